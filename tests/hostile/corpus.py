"""The hostile programs: what the first line of each promises, and which of them run.

It says

- `family`, of the families of hostile programs;
- `verdict`, what its grading must end with (several, where it depends on the machine what is reached first);
- `build` (Python only), what a build must end with in which it runs in the compiler's place;
- `rank`, what a collective must end with in which the last of three ranks is the program (see `ranks`): by default
  as `verdict`, where a failed build is a rank's error;
- `lift`, the one thing without which it does its harm: a limit of the sandbox, its system call `filter`, the
  `sandbox` as a whole where several parts of it would each do, the judge's `parser`, the arena's `seal`, or the
  `judge` itself, who tells one end from another;
- `shows`, what the control must then show: `harm` printed, `alive` beyond the limit, `raw` control characters,
  the host's `secret`, an `exit:` code, a `signal:`, that it `ends` or `fails`, a peak of `memory:` MiB, or what
  a `naive:` reader takes its message for.
"""

import os
import random
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox import registry
from tests.revision import revision

PROGRAMS = Path(__file__).parent / "programs"
REMAINDER = 4
"""Programs that a commit draws beside one of each family."""

_HEADER = re.compile(
    r"hostile: family=(?P<family>\S+) verdict=(?P<verdict>\S+)(?: build=(?P<build>\S+))?(?: rank=(?P<rank>\S+))? "
    r"lift=(?P<lift>\S+) shows=(?P<shows>\S+)$"
)


@dataclass(frozen=True)
class Program:
    """A program and what its header promises."""

    path: Path
    family: str
    verdicts: tuple[str, ...]
    at_build: tuple[str, ...]
    in_rank: tuple[str, ...]
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
        in_rank = tuple(
            (header["rank"] or header["verdict"].replace("build_error", "runtime_error")).split(",")
        )
        found.append(
            Program(path, header["family"], verdicts, build, in_rank, header["lift"], header["shows"])
        )
    return found


def chosen() -> list[Program]:
    """What the commit draws; all with HOSTILE=all, or those that HOSTILE names."""
    named = os.environ.get("HOSTILE")
    if named is None:
        return drawn(revision())
    return [program for program in corpus() if named == "all" or program.path.name in named.split(",")]


def drawn(seed: str) -> list[Program]:
    """One program of each family, and REMAINDER others."""
    draw = random.Random(seed)
    programs, families = corpus(), defaultdict(list)
    for program in programs:
        families[program.family].append(program)
    ones = [draw.choice(family) for _, family in sorted(families.items())]
    rest = [program for program in programs if program not in ones]
    return sorted([*ones, *draw.sample(rest, REMAINDER)], key=lambda program: program.path.name)


def backends() -> list[str]:
    """Names of the backends that isolate: each must work on a machine that runs these tests.

    HOSTILE_BACKENDS names some of them.
    """
    named = os.environ.get("HOSTILE_BACKENDS")
    isolating = [name for name, backend in registry.BACKENDS.items() if backend().isolates]
    return [name for name in isolating if named is None or name in named.split(",")]
