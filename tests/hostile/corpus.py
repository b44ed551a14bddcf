"""The hostile programs: what the first line of each promises, and which of them run.

It says

- `family`, of the families of hostile programs;
- `verdict`, what its grading must end with (several, where it depends on the machine what is reached first);
- `build` (Python only), what a build must end with in which it runs in the compiler's place;
- `lift`, the one thing without which it does its harm: a limit of the sandbox, the `sandbox` as a whole, the
  judge's `parser`, the arena's `seal`, or the `judge` itself, who tells one end from another;
- `shows`, what the control must then show: `harm` printed, `alive` beyond the limit, `raw` control characters,
  the host's `secret`, an `exit:` code, a `signal:`, that it `ends` or `fails`, a peak of `memory:` MiB, or what
  a `naive:` reader takes its message for.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox import registry

PROGRAMS = Path(__file__).parent / "programs"
FIXED = (
    "device_include.cpp", "endless_include.cpp", "flood_stderr.py", "fork_bomb.py", "inherited.py", "inode_flood.py",
    "judge_at_build.cpp", "judges_memory.py", "message_forged.py", "quotes_a_secret.cpp", "segfault.py",
    "shrinks_arena.py", "sparse_file.py", "spread_cpu.py", "stack_python.py",
)  # fmt: skip
"""At least one of each family: what `make test` runs. Drawing others with each commit waits until all have passed on
every backend once."""

_HEADER = re.compile(
    r"hostile: family=(?P<family>\S+) verdict=(?P<verdict>\S+)(?: build=(?P<build>\S+))? "
    r"lift=(?P<lift>\S+) shows=(?P<shows>\S+)$"
)


@dataclass(frozen=True)
class Program:
    """A program and what its header promises."""

    path: Path
    family: str
    verdicts: tuple[str, ...]
    at_build: tuple[str, ...]
    lift: str
    shows: str

    @property
    def native(self) -> bool:
        """C++: it attacks the build, unless it has a function `attack`."""
        return self.path.suffix == ".cpp"

    @property
    def attacks_build(self) -> bool:
        """It is the compiler that it attacks, by its source."""
        return self.native and "attack()" not in self.path.read_text()


def corpus() -> list[Program]:
    """All programs, by name."""
    found = []
    for path in sorted(PROGRAMS.glob("*.*")):
        header = _HEADER.search(path.read_text().partition("\n")[0])
        assert header is not None, f"{path.name} has no header"
        build = tuple((header["build"] or "").split(",")) if header["build"] else ()
        assert bool(build) == (path.suffix == ".py"), path.name
        verdicts = tuple(header["verdict"].split(","))
        found.append(Program(path, header["family"], verdicts, build, header["lift"], header["shows"]))
    return found


def chosen() -> list[Program]:
    """The programs of FIXED; all with HOSTILE=all, or those that HOSTILE names."""
    programs = corpus()
    named = os.environ.get("HOSTILE", ",".join(FIXED))
    if named == "all":
        return programs
    return [program for program in programs if program.path.name in named.split(",")]


def backends() -> list[str]:
    """Names of the backends that isolate: each must work on a machine that runs these tests.

    HOSTILE_BACKENDS names some of them.
    """
    named = os.environ.get("HOSTILE_BACKENDS")
    isolating = [name for name, backend in registry.BACKENDS.items() if backend().isolates]
    return [name for name in isolating if named is None or name in named.split(",")]
