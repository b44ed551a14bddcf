"""What forms of the site send: addresses to go back to, uploaded files, pasted code."""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import UploadFile

from grader.contract import OFFERED_MODES, Language, Mode
from server.errors import FilesRefused, Invalid

_ENTRY = {
    Language.PYTHON: "solution.py",
    Language.TRITON: "solution.py",
    Language.TILELANG: "solution.py",
    Language.CUTE: "solution.py",
    Language.CPP: "solution.cpp",
    Language.CUDA: "solution.cu",
}
_CUDA = re.compile(r"__global__|<<<|cuda_runtime")
_CPP = re.compile(r'^[ \t]*#[ \t]*include\b|extern\s+"C"|\bstd::', re.MULTILINE)


def local_address(address: str, default: str = "/") -> str:
    """The address if it leads to this site, else the default: a link must not lead people elsewhere."""
    try:
        parts = urlsplit(address.replace("\\", "/"))
    except ValueError:  # Such as `//[`, which no browser can follow either.
        return default
    plain = address.startswith("/") and not address.startswith("//") and address.isprintable()
    return address if plain and not parts.scheme and not parts.netloc else default


def language(value: str) -> Language | None:
    """The language chosen in a form; None where it shall be detected."""
    return Language(value) if value in set(Language) else None


def mode(value: str) -> Mode:
    """The mode chosen in a form. Raises `Invalid`: a mistake must not become a grading that counts."""
    if value in OFFERED_MODES:
        return Mode(value)
    raise Invalid(
        field="mode",
        why=f"one of {', '.join(OFFERED_MODES)}",
        why_zh=f"须为 {'、'.join(OFFERED_MODES)} 之一",
    )


def pasted_name(code: str, chosen: Language | None) -> str:
    """File name for pasted code: by the chosen language, else by what the code looks like."""
    if chosen is not None:
        return _ENTRY[chosen]
    if _CUDA.search(code):
        return _ENTRY[Language.CUDA]
    return _ENTRY[Language.CPP if _CPP.search(code) else Language.PYTHON]


def handed_in(uploads: Sequence[UploadFile], code: str, chosen: Language | None) -> Mapping[str, bytes]:
    """Contents by name of all that the form sends. Raises `FilesRefused` for a name given twice."""
    files: dict[str, bytes] = {}
    for upload in uploads:
        if upload.filename:
            _add(files, upload.filename, upload.file.read())
    if code.strip():
        # Browsers send line ends as CRLF, whatever was typed.
        _add(files, pasted_name(code, chosen), code.replace("\r\n", "\n").encode("utf-8", "surrogatepass"))
    return files


def _add(files: dict[str, bytes], name: str, content: bytes) -> None:
    if name in files:
        raise FilesRefused(
            rule="repeated_name",
            why=f"{name} is given twice: choose files or paste code, not both under one name.",
            why_zh=f"{name} 重复给出：同名文件不能既上传又粘贴。",
        )
    files[name] = content
