"""The sandbox backends by name."""

from collections.abc import Callable

from grader.sandbox.base import Backend, SandboxError
from grader.sandbox.bubblewrap import BubblewrapBackend
from grader.sandbox.docker import DockerBackend
from grader.sandbox.plain import PlainBackend

BACKENDS: dict[str, Callable[[], Backend]] = {
    "bubblewrap": BubblewrapBackend,
    "docker": DockerBackend,
    "plain": PlainBackend,
}
DEFAULT = "bubblewrap"


def choose(name: str | None = None) -> Backend:
    """The backend of this name, or the default; never one that isolates less than was asked for.

    Raises SandboxError, with what to do, if there is none of that name or it cannot run here.
    """
    chosen = name or DEFAULT
    if chosen not in BACKENDS:
        raise SandboxError(f"no sandbox is called {chosen!r}; there are {', '.join(BACKENDS)}")
    backend = BACKENDS[chosen]()
    missing = backend.available()
    if missing is not None:
        hint = "" if chosen == "plain" else " (`--sandbox plain` runs your own code without isolation)"
        raise SandboxError(f"the {chosen} sandbox cannot run here: {missing}{hint}")
    return backend
