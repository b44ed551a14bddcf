"""The cheats on a CPU: what the first line of each promises, and which of them a run tries."""

import random
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from tests.revision import revision

PROGRAMS = Path(__file__).parent / "programs"
SHARED = "shared.py"
"""Imported by attacks in Python, as the headers are included by those in C++."""
HONEST = "honest"
REMAINDER = 5
"""Programs that a commit draws beside one of each family."""
_HEADER = re.compile(r"attack: family=(?P<family>\S+) expect=(?P<expect>\S+) gain=(?P<gain>\S+)$")


@dataclass(frozen=True)
class Attack:
    """A program and what its header promises: the verdicts it may get, and what would count as a gain."""

    path: Path
    family: str
    expect: tuple[str, ...]
    """Verdicts, or `no_gain`: accepted, at the honest price."""
    gain: str
    """`time`: to be accepted in less time than the honest program; `acceptance`: to be accepted at all."""

    @property
    def allowed(self) -> frozenset[str]:
        """Verdicts that it may get."""
        return frozenset("accepted" if verdict == "no_gain" else verdict for verdict in self.expect)


def attacks() -> list[Attack]:
    """The corpus, by name."""
    found = []
    for path in sorted(PROGRAMS.iterdir()):
        if path.suffix not in (".py", ".cpp") or path.name == SHARED or path.stem == HONEST:
            continue
        header = _HEADER.search(path.read_text().partition("\n")[0])
        assert header is not None, f"{path.name} has no header"
        found.append(Attack(path, header["family"], tuple(header["expect"].split(",")), header["gain"]))
    return found


def chosen(seed: str | None = None) -> list[Attack]:
    """One of each family, and some more, drawn by the commit (or `seed`)."""
    draw = random.Random(revision() if seed is None else seed)  # noqa: S311 (a selection, no secret)
    families: dict[str, list[Attack]] = defaultdict(list)
    for attack in attacks():
        families[attack.family].append(attack)
    ones = [draw.choice(family) for _, family in sorted(families.items())]
    rest = [attack for attack in attacks() if attack not in ones]
    return sorted([*ones, *draw.sample(rest, min(REMAINDER, len(rest)))], key=lambda attack: attack.path.name)
