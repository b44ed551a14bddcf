"""Which language a submission is in, which file is its entry, and whether its files can be taken at all."""

import ast
import io
import re
import shutil
import sys
import tokenize
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from grader.contract import MAX_FILE_BYTES, MAX_FILES, Language, Text
from grader.dialects import DIALECTS
from grader.messages import text
from grader.plaintext import line

ENTRY_STEM = "solution"
SUFFIX: Mapping[Language, str] = {
    Language.PYTHON: ".py",
    Language.TRITON: ".py",
    Language.TILELANG: ".py",
    Language.CUTE: ".py",
    Language.CPP: ".cpp",
    Language.CUDA: ".cu",
}
OTHER_SUFFIXES = frozenset({".h", ".hpp", ".cuh", ".inc", ".txt", ".md", ".json", ".toml"})
"""Files that may come along: headers, notes, small tables."""

PROGRAMS = "/usr/local/bin:/usr/bin:/bin"
"""Where the programs of a sandbox lie, compilers among them."""
MAX_PARSED = 64 << 10
"""Bytes of Python that are parsed to look for imports: a MiB would take seconds where others wait."""
_LIBRARIES = frozenset({"torch", "triton", "tilelang", "cutlass", "numpy"}) | sys.stdlib_module_names
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
"""Names that Windows gives to devices, whatever the suffix: the staff's machine may be one."""
_CONTROL = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
"""What terminals and editors obey rather than show: whoever reads the source would read another one."""


class FilesError(ValueError):
    """The files cannot be graded; `text` says what to change."""

    def __init__(self, sentence: Text) -> None:
        super().__init__(sentence.en)
        self.text = sentence


def check(files: Mapping[str, bytes], *, entry: str = "solve") -> None:
    """Raise FilesError for the first thing wrong with number, names, sizes or encoding.

    `entry` is the function that the submission must define, for messages.
    """
    if not files:
        raise FilesError(text("no_files"))
    if len(files) > MAX_FILES:
        raise FilesError(text("too_many_files", count=len(files), limit=MAX_FILES))
    size = sum(len(data) for data in files.values())
    if size > MAX_FILE_BYTES:
        raise FilesError(text("too_large", size=size, limit=MAX_FILE_BYTES))
    for name, data in files.items():
        _check_file(name, data, entry)
    _check_letters(files)


def detect(
    files: Mapping[str, bytes], override: Language | None = None, *, entry: str = "solve"
) -> tuple[Language, str]:
    """The language and the name of the entry file. Raises FilesError.

    The entry is `solution.py`, `.cpp` or `.cu`, or the one file there is; a `.py` beside which any file
    imports triton counts as Triton, and so on for the other dialects. `override` settles both where they are
    in doubt. Nothing is executed.
    """
    check(files, entry=entry)
    name = _entry(files, override)
    suffix = PurePosixPath(name).suffix
    if override is not None:
        if suffix != SUFFIX[override]:
            raise FilesError(
                text("wrong_language", name=name, language=override.value, suffix=SUFFIX[override])
            )
        return override, name
    language = {".py": Language.PYTHON, ".cpp": Language.CPP, ".cu": Language.CUDA}[suffix]
    python = [data for other, data in files.items() if other.endswith(".py")]
    parsed = sum(map(len, python)) <= MAX_PARSED
    if language is Language.PYTHON:
        for dialect in DIALECTS.values():
            if any(imports(dialect.mark, data, parsed=parsed) for data in python):
                return dialect.language, name
    return language, name


def cpp_compiler() -> str | None:
    """Where a sandbox finds this machine's C++ compiler; without one, C++ is not graded on its CPU."""
    return shutil.which("g++", path=PROGRAMS)


def imports(module: str, source: bytes, *, parsed: bool = True) -> bool:
    """Whether Python source imports this module. What does not parse is taken at its lines' word."""
    if not re.search(rb"^[ \t]*(?:import|from)[ \t]+" + module.encode() + rb"\b", source, re.MULTILINE):
        return False
    if not parsed:
        return True
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return any(
        (isinstance(node, ast.Import) and any(_is(module, alias.name) for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and node.level == 0 and _is(module, node.module or ""))
        for node in ast.walk(tree)
    )


def _is(module: str, name: str) -> bool:
    return name.partition(".")[0] == module


def _check_name(name: str) -> None:
    shown = line(name, 128)
    if not name:
        raise FilesError(text("no_name"))
    if not _NAME.fullmatch(name):
        raise FilesError(text("bad_name", name=shown))
    if name.partition(".")[0].lower() in _DEVICES:
        raise FilesError(text("reserved_name", name=name))
    suffix = PurePosixPath(name).suffix
    if not suffix:
        raise FilesError(text("no_suffix", name=shown))
    if suffix not in SUFFIX.values() and suffix not in OTHER_SUFFIXES:
        raise FilesError(text("wrong_suffix", name=shown, suffix=suffix))
    module = PurePosixPath(name).stem
    if suffix == ".py" and module in _LIBRARIES:
        raise FilesError(text("shadowing_name", name=name, module=module))


def _check_file(name: str, data: bytes, entry: str) -> None:
    _check_name(name)
    shown, suffix = line(name, 128), PurePosixPath(name).suffix
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise FilesError(text("not_text", name=shown, position=0))
    try:
        content = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FilesError(text("not_text", name=shown, position=error.start)) from None
    if "\0" in content:
        raise FilesError(text("nul_byte", name=shown, position=content.index("\0")))
    if found := _CONTROL.search(content):
        code = f"U+{ord(found[0]):04X}"
        raise FilesError(text("control_character", name=shown, character=code, position=found.start()))
    if suffix == ".py" and (encoding := _declared(data)) != "utf-8":
        raise FilesError(text("declared_encoding", name=shown, encoding=line(encoding, 40)))
    if suffix in SUFFIX.values() and not content.strip() and PurePosixPath(name).stem != "__init__":
        raise FilesError(text("empty_file", name=shown, entry=entry))


def _declared(source: bytes) -> str:
    """The encoding in which Python would read the source: one that it declares may hide code in comments."""
    try:
        return tokenize.detect_encoding(io.BytesIO(source).readline)[0]
    except SyntaxError:  # None that Python knows.
        return "unknown"


def _check_letters(names: Iterable[str]) -> None:
    """Raise FilesError where two names are one on a system that does not tell upper from lower case."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise FilesError(text("same_letters", name=name, other=other))


def _entry(files: Mapping[str, bytes], override: Language | None) -> str:
    wanted = [SUFFIX[override]] if override is not None else [".py", ".cpp", ".cu"]
    if len(files) == 1:
        (name,) = files
        if PurePosixPath(name).suffix not in SUFFIX.values():
            raise FilesError(text("wrong_suffix", name=name, suffix=PurePosixPath(name).suffix))
        return name
    entries = [f"{ENTRY_STEM}{suffix}" for suffix in wanted if f"{ENTRY_STEM}{suffix}" in files]
    if not entries:
        raise FilesError(text("no_entry"))
    if len(entries) > 1:
        raise FilesError(text("several_entries", names=", ".join(entries)))
    return entries[0]
