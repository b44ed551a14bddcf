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


def named(name: str | None = None, *, for_others: bool = False) -> Backend:
    """The backend of this name, or the default, whether it can run here or not.

    Raises SandboxError if there is none of that name, or `for_others` (the code of people whom one does not
    know) if it isolates nothing.
    """
    chosen = name or DEFAULT
    if chosen not in BACKENDS:
        raise SandboxError(f"no sandbox is called {chosen!r}; there are {', '.join(BACKENDS)}")
    backend = BACKENDS[chosen]()
    if for_others and not backend.isolates:
        raise SandboxError(f"the sandbox `{chosen}` isolates nothing, so a worker refuses it")
    return backend


def choose(name: str | None = None, *, for_others: bool = False) -> Backend:
    """As `named`, and never one that isolates less than was asked for.

    Raises SandboxError, with what to do, also if it cannot run here.
    """
    chosen = name or DEFAULT
    backend = named(chosen, for_others=for_others)
    missing = backend.available()
    if missing is not None:
        hint = "" if chosen == "plain" else " (`--sandbox plain` runs your own code without isolation)"
        raise SandboxError(f"the {chosen} sandbox cannot run here: {missing}{hint}")
    return backend
