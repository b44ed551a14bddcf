"""The same system call filter in the form that Docker takes: a JSON profile for each kind of network.

`python -m grader.sandbox.profile docker/seccomp` writes the committed copies; a test holds them equal.
"""

import json
import sys
from pathlib import Path
from typing import Any, get_args

from grader.sandbox import seccomp
from grader.sandbox.seccomp import Network, Rule

_KILL = "SCMP_ACT_KILL_PROCESS"
_ERRNO = "SCMP_ACT_ERRNO"
_OPERATORS = {1: "SCMP_CMP_NE", 4: "SCMP_CMP_EQ", 6: "SCMP_CMP_GT", 7: "SCMP_CMP_MASKED_EQ"}


def document(network: Network) -> dict[str, Any]:
    """The profile. Docker's own runtime leaves out calls whose names its libseccomp does not know.

    Only the machine's own ABI is named, so that calls of every other are killed.
    """
    return {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": _entries(network)}


def text(network: Network) -> str:
    """The profile as the committed file holds it."""
    return json.dumps(document(network), indent=1) + "\n"


def _entries(network: Network) -> list[dict[str, Any]]:
    """One entry for all unconditional rules of an action, and one for each conditional rule."""
    plain: dict[int, list[str]] = {}
    conditional: list[Rule] = []
    for rule in seccomp.rules(network):
        if rule.comparisons:
            conditional.append(rule)
        else:
            plain.setdefault(rule.action, []).append(rule.call)
    entries = [{"names": sorted(calls), **_action(action)} for action, calls in sorted(plain.items())]
    return entries + [
        {"names": [rule.call], **_action(rule.action), "args": _args(rule)} for rule in conditional
    ]


def _action(action: int) -> dict[str, Any]:
    if action & ~0xFFFF == seccomp.ERRNO:
        return {"action": _ERRNO, "errnoRet": action & 0xFFFF}
    return {"action": _KILL}


def _args(rule: Rule) -> list[dict[str, Any]]:
    return [
        {"index": index, "value": first, "valueTwo": second, "op": _OPERATORS[operator]}
        for index, operator, first, second in rule.comparisons
    ]


def main(folder: Path) -> None:
    """Write the profiles into a folder."""
    for network in get_args(Network):
        (folder / f"{network}.json").write_text(text(network))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
