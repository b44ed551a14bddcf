"""How submissions are compiled: the compiler of a source file, and the flags that the judge gives it."""

from collections.abc import Sequence
from pathlib import PurePosixPath

_FLAGS = {
    ".cpp": (
        "-std=c++20", "-O3", "-march=native", "-fopenmp", "-fPIC", "-shared", "-Wall", "-fmax-errors=50",
    ),
    ".cu": ("-std=c++17", "-O3", "-lineinfo", "-shared", "-Xcompiler", "-fPIC,-Wall", "-Xptxas", "-v"),
}  # fmt: skip
_COMPILERS = {".cpp": "g++", ".cu": "nvcc"}


def flags(entry_name: str, extra: Sequence[str] = ()) -> list[str]:
    """All flags for this entry file; `extra` holds what only the device tells, such as its architecture."""
    return [*_FLAGS[PurePosixPath(entry_name).suffix], *extra]


def command(entry_name: str, extra: Sequence[str] = ()) -> str:
    """The command as a student may repeat it, without file names."""
    return " ".join((_COMPILERS[PurePosixPath(entry_name).suffix], *flags(entry_name, extra)))
