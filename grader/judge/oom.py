"""Who dies when the machine runs out of memory: the candidate (`grader.sandbox.gate`), never its judge."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NEVER = -1000
"""oom_score_adj of a process that is never chosen."""


@contextmanager
def spared(path: Path = Path("/proc/self/oom_score_adj")) -> Iterator[None]:
    """Within, the kernel does not choose this process, where the system lets us say so (root)."""
    before: str | None = None
    with suppress(OSError):
        found = path.read_text("ascii")
        path.write_text(str(NEVER), "ascii")
        before = found
    try:
        yield
    finally:
        if before is not None:
            with suppress(OSError):
                path.write_text(before, "ascii")
