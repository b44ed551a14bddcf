"""Which files are taken, which one is the entry, and what a refused file is told."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.contract import MAX_FILE_BYTES, Language
from grader.languages import MAX_PARSED, FilesError, check, detect, imports

PYTHON = b"def solve(x, out):\n    out.copy_(x)\n"
TRITON = b"import torch\nimport triton.language as tl\n" + PYTHON


@pytest.mark.parametrize(
    ("files", "override", "expected"),
    [
        ({"solution.py": PYTHON}, None, (Language.PYTHON, "solution.py")),
        ({"anything.py": PYTHON}, None, (Language.PYTHON, "anything.py")),
        ({"mine.cpp": b"int x;"}, None, (Language.CPP, "mine.cpp")),
        ({"mine.cu": b"int x;"}, None, (Language.CUDA, "mine.cu")),
        ({"solution.py": TRITON}, None, (Language.TRITON, "solution.py")),
        (
            {"solution.py": b"import tilelang.language as T\n" + PYTHON},
            None,
            (Language.TILELANG, "solution.py"),
        ),
        ({"solution.py": b"from cutlass import cute\n" + PYTHON}, None, (Language.CUTE, "solution.py")),
        ({"solution.py": PYTHON}, Language.CUTE, (Language.CUTE, "solution.py")),
        ({"solution.py": TRITON}, Language.PYTHON, (Language.PYTHON, "solution.py")),
        ({"solution.py": PYTHON}, Language.TRITON, (Language.TRITON, "solution.py")),
        ({"solution.py": PYTHON, "kernels.py": TRITON}, None, (Language.TRITON, "solution.py")),
        ({"solution.cpp": b"int x;", "tile.h": b"", "notes.md": b"hi"}, None, (Language.CPP, "solution.cpp")),
        ({"solution.py": PYTHON, "solution.cpp": b"int x;"}, Language.CPP, (Language.CPP, "solution.cpp")),
    ],
)
def test_language_and_entry(
    files: dict[str, bytes], override: Language | None, expected: tuple[Language, str]
) -> None:
    assert detect(files, override) == expected


@pytest.mark.parametrize(
    ("source", "triton"),
    [
        (b"import triton", True),
        (b"if True:\n    from triton import language", True),
        (b"import tritonclient", False),
        (b'"""\nimport triton\n"""\n', False),
        (b"# import triton", False),
        (b"from . import triton", False),
        (b"import triton\n)", True),  # does not parse: its lines are taken at their word
    ],
)
def test_triton_is_seen_without_running_anything(source: bytes, triton: bool) -> None:
    assert imports("triton", source) is triton


@pytest.mark.parametrize(
    ("files", "code", "says"),
    [
        ({}, "no_files", "No file"),
        ({"solution.py": b""}, "empty_file", "`solve`"),
        ({"solution.py": b" \n\t\n"}, "empty_file", "empty"),
        ({"solution.py": b"#" * (2 << 20)}, "too_large", str(MAX_FILE_BYTES)),
        ({"a.py": b"#" * MAX_FILE_BYTES, "b.h": b"#"}, "too_large", "together"),
        ({"triton.py": TRITON}, "shadowing_name", "`import triton`"),
        ({"solution.py": PYTHON, "random.py": PYTHON}, "shadowing_name", "another name"),
        ({f"f{n}.h": b"" for n in range(65)}, "too_many_files", "64"),
        ({"solution.py": b"x = '\xff'"}, "not_text", "byte 5"),
        ({"solution.py": "x = 1".encode("utf-16")}, "not_text", "UTF-8"),
        ({"solution.py": b"\xef\xbb\xbfx = 1"}, "not_text", "byte-order mark"),
        ({"solution.py": b"x = 1\0"}, "nul_byte", "byte 5"),
        ({"solution.py": b"# \xe2\x80\xae"}, "control_character", "U+202E"),
        ({"solution.cpp": b"int x; // \x1b[2J"}, "control_character", "U+001B"),
        ({"solution.py": b"# coding: utf-7\nx = 1"}, "declared_encoding", "utf-7"),
        ({"solution.py": b"# vim: set fileencoding=klingon :\nx = 1"}, "declared_encoding", "unknown"),
        ({"solution.py": PYTHON, "Solution.py": PYTHON}, "same_letters", "case only"),
        ({"aux.h": b"", "solution.cpp": b"int x;"}, "reserved_name", "device"),
        ({"solution.ipynb": b"{}"}, "wrong_suffix", "`.ipynb`"),
        ({"solution": b"x"}, "no_suffix", ".py"),
        ({"": PYTHON}, "no_name", "solution.py"),
        ({"tile.h": b"x"}, "wrong_suffix", "`.h`"),
        ({"../solution.py": PYTHON}, "bad_name", "folders"),
        ({".hidden.py": PYTHON}, "bad_name", "dot"),
        ({"a\x1b[31m\n.py": PYTHON}, "bad_name", "usable"),
        ({"a.py": PYTHON, "b.py": PYTHON}, "no_entry", "solution.py"),
        ({"solution.py": PYTHON, "solution.cpp": b"int x;"}, "several_entries", "--language"),
    ],
)
def test_refused_files_are_told_what_to_change(files: dict[str, bytes], code: str, says: str) -> None:
    with pytest.raises(FilesError) as raised:
        detect(files)
    assert raised.value.text.code == code
    assert says in raised.value.text.en
    assert raised.value.text.en.isprintable()


def test_an_override_that_does_not_fit_is_refused() -> None:
    with pytest.raises(FilesError) as raised:
        detect({"mine.py": PYTHON}, Language.CPP)
    assert raised.value.text.code == "wrong_language"


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.text(max_size=140), st.binary(max_size=200), max_size=4))
def test_any_files_are_taken_or_refused(files: dict[str, bytes]) -> None:
    try:
        check(files)
    except FilesError as refused:
        said = refused.text.en
    else:
        said = "taken"
    assert said


def test_much_python_is_not_parsed_but_taken_at_its_lines_word() -> None:
    shown = b'"""\nimport triton\n"""\n'
    assert detect({"solution.py": shown})[0] is Language.PYTHON
    assert detect({"solution.py": shown + b"#" * MAX_PARSED})[0] is Language.TRITON
    halves = {"solution.py": shown + b"#" * (MAX_PARSED // 2), "part.py": b"#" * (MAX_PARSED // 2)}
    assert detect(halves)[0] is Language.TRITON
