"""Cheats and hostile programs against the judge on a device: none may gain, and the device must stay well.

A program's first line names its task, its family, the verdicts that it may get and what would be a gain: to
be accepted at all, or in less than 0.9 of the best honest program's time in the same run, three times over.
Beside each stands what it gains from a naive grader (tests/attacks/device_victim.py): one that gains nothing
there either proves nothing. Needs a calibrated CUDA device:

    python -m benchmarks.gpu.attacks

Every row is kept beside the output at once: a run that breaks off goes on after its last row, and
`--merge` writes what there is, on any machine.
"""

import argparse
import hashlib
import json
import math
import re
import secrets
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import results_schema
from benchmarks.gpu import attack_tasks, sessions
from grader.contract import Verdict
from grader.hardware import profile
from grader.judge import environment, timed
from grader.judge.gpu.device import Device
from grader.sandbox import registry
from grader.sandbox.base import Backend

OUTPUT = results_schema.RESULTS / "attacks.h200.json"
PROGRAMS = Path(__file__).parents[2] / "tests" / "attacks" / "device"
GAIN = 0.9
HONEST = ("honest", "hostile")
"""Families of programs that do not try to gain."""
CONFIRMED = 3
"""A gain in time must show in so many sessions."""
WARM_UP_SECONDS = 8.0
BUILDERS = 10
VICTIM = PROGRAMS.parent / "device_victim.py"
_HEADER = re.compile(r"attack: task=(\w+) family=(\w+) expected=([\w,]+)(?: gain=(\w+))?")


@dataclass(frozen=True)
class Attack:
    """One program and what its first line says."""

    name: str
    data: bytes
    task: str
    family: str
    expected: tuple[Verdict, ...]
    gain: str = ""
    """`time`, `acceptance`, or nothing for programs that do not try."""

    @property
    def digest(self) -> str:
        """Of the program and the headers it includes: a row belongs to what it was measured on."""
        return digest(self.data)


def digest(data: bytes) -> str:
    """A digest of a source and, one after the other, of the headers of ours that it includes."""
    total = hashlib.sha256(data)
    for name in re.findall(rb'^#include "(\w+\.cuh)"', data, re.MULTILINE):
        total.update(digest((PROGRAMS / name.decode()).read_bytes()).encode())
    return total.hexdigest()[:16]


def main() -> int:
    """Run all, write the results; 0 if nothing gained and every verdict was one of those named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hardware", default="h200")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--seconds", type=float, default=3600.0, help="Begin nothing after so long.")
    parser.add_argument("--merge", action="store_true", help="Run nothing: write the rows that are there.")
    parser.add_argument("names", nargs="*", help="Only programs whose name begins with one of these.")
    arguments = parser.parse_args()
    kept = arguments.output.with_suffix(".partial")
    if not arguments.merge:
        run(arguments.hardware, read(arguments.names), kept, time.monotonic() + arguments.seconds)
    header, *found = [json.loads(line) for line in kept.read_text("utf-8").splitlines()]
    judged(found)
    results_schema.write(
        arguments.output, results_schema.ResultsFile.model_validate({**header, "rows": found})
    )
    table(found)
    return 0 if all(row["as_expected"] and not row["gained"] for row in found) else 1


def run(hardware_class: str, attacks: Sequence[Attack], kept: Path, until: float) -> None:
    """Run what `kept` does not hold yet; its first line is the header of the results."""
    victim = Victim()  # Before anything of CUDA begins in this process.
    hardware = profile.load(hardware_class)
    backend = registry.choose(None)
    device = Device.open(hardware_class)
    done = begun(kept, device)
    todo = [attack for attack in attacks if done.get(attack.name, {}).get("program") != attack.digest]
    kept.write_text(
        "".join(
            line + "\n"
            for line in kept.read_text("utf-8").splitlines()
            if json.loads(line).get("id") not in {attack.name for attack in todo}
        ),
        "utf-8",
    )
    programs = built(todo, backend, device)
    plans = {
        name: sessions.with_rates([make(hardware, device)], backend, device)
        for name, make in attack_tasks.TASKS.items()
        if any(attack.task == name for attack in todo)
    }
    best: dict[str, float] = {}
    for row in done.values():
        stale = any(attack.name == row["id"] for attack in todo)
        if row["family"] == "honest" and "seconds" in row and not stale:
            best[row["task"]] = min(row["seconds"], best.get(row["task"], math.inf))
    for attack in todo:
        if time.monotonic() > until:
            break
        row = {"id": attack.name, "attack": attack.name, "task": attack.task, "family": attack.family}
        row |= {"gain": attack.gain, "program": attack.digest}
        program = programs[attack.name]
        if isinstance(program, str):
            row |= {"verdict": "build_error", "as_expected": Verdict.BUILD_ERROR in attack.expected}
            row |= {"message": program[:300]}
        else:
            row |= attempt(attack, program, plans[attack.task], backend, device, hardware, best)
        if attack.family != "hostile":
            row |= victim.grade(attack, None if isinstance(program, str) else program.artifact)
        with kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print({key: value for key, value in row.items() if key != "message"}, flush=True)
    victim.close()
    device.close()


def begun(kept: Path, device: Device) -> dict[str, dict[str, Any]]:
    """The rows kept so far, by name; none if they are another judge's. Writes the header."""
    header = results_schema.header(
        "python -m benchmarks.gpu.attacks", device.name, device.driver, environment.judge_version()
    )
    header["environment"] |= {"device_judge": environment.device_judge()}
    lines = kept.read_text("utf-8").splitlines() if kept.exists() else []
    same = lines and json.loads(lines[0])["environment"].get("device_judge") == environment.device_judge()
    lines = [json.dumps(header), *(lines[1:] if same else [])]
    kept.write_text("\n".join(lines) + "\n", "utf-8")
    return {row["id"]: row for row in map(json.loads, lines[1:])}


def built(attacks: Sequence[Attack], backend: Backend, device: Device) -> dict[str, sessions.Program | str]:
    """The programs compiled, side by side; the compiler's words for one that does not compile."""
    headers = {path.name: path.read_bytes() for path in PROGRAMS.glob("*.cuh")}
    flags = device.compiler_flags

    def build(attack: Attack) -> sessions.Program | str:
        try:
            return sessions.program(attack.name, attack.data, backend, flags, headers)
        except RuntimeError as error:
            return str(error)

    with ThreadPoolExecutor(BUILDERS) as pool:
        return dict(zip((attack.name for attack in attacks), pool.map(build, attacks), strict=True))


def attempt(
    attack: Attack,
    program: sessions.Program,
    plans: Sequence[timed.Plan],
    backend: Backend,
    device: Device,
    hardware: profile.Hardware,
    best: dict[str, float],
) -> dict[str, Any]:
    """One session, and more of them while it seems to gain time."""
    row: dict[str, Any] = {}
    for sessions_run in range(1, CONFIRMED + 1):
        try:
            session = sessions.run(program, plans, backend, device, hardware, warm_up=WARM_UP_SECONDS)
            device.check_clean()
        except Exception as error:  # noqa: BLE001 (what a program does to the judge is the finding)
            traceback.print_exc()
            return {"verdict": "", "as_expected": False, "message": f"the judge failed: {error!r}"[:300]}
        row = {**outcome(attack, session), "sessions": sessions_run}
        honest = best.get(attack.task, math.inf)
        accepted = row["verdict"] == Verdict.ACCEPTED.value
        if attack.family == "honest" and accepted:
            best[attack.task] = min(honest, row["seconds"])
        gains = accepted and attack.gain == "time" and row["seconds"] < GAIN * honest
        if not gains:
            break
    return row


class Victim:
    """The naive grader, in a process of its own."""

    def __init__(self) -> None:
        command = [sys.executable, str(VICTIM)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._scratch = tempfile.TemporaryDirectory()

    def grade(self, attack: Attack, artifact: bytes | None) -> dict[str, Any]:
        """What it says of a program: fields of the row."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        suffix = ".py" if attack.name.endswith(".py") else ".so"
        if suffix == ".so" and artifact is None:
            return {}
        path = Path(self._scratch.name) / f"{attack.name.partition('.')[0]}{suffix}"
        path.write_bytes(attack.data if artifact is None else artifact)
        job = {"path": str(path), "task": attack.task, "token": secrets.token_hex(8)}
        job |= {"seed": str(secrets.randbits(31))}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        said = json.loads(self._process.stdout.readline())
        return {"control_accepted": said["passed"], "control_seconds": said["seconds"]}

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._scratch.cleanup()


def judged(found: Sequence[dict[str, Any]]) -> None:
    """Add to each row the best honest times of its task, and whether the program gained, here and there."""
    for row in found:
        same = [other for other in found if other["family"] == "honest" and other["task"] == row["task"]]
        honest = min(other["seconds"] for other in same if "seconds" in other)
        naive = min(other["control_seconds"] for other in same if other.get("control_seconds"))
        accepted = row["verdict"] == Verdict.ACCEPTED.value
        row |= {"honest_seconds": honest, "control_honest_seconds": naive, "gained": False}
        row |= {"control_gained": False}
        if row["gain"] == "acceptance":
            row |= {"gained": accepted, "control_gained": bool(row.get("control_accepted"))}
        elif row["gain"] == "time":
            fast = row.get("control_seconds") is not None and row["control_seconds"] < GAIN * naive
            row["gained"] = accepted and row["seconds"] < GAIN * honest
            row["control_gained"] = bool(row.get("control_accepted")) and fast


def table(found: Sequence[dict[str, Any]]) -> None:
    """Print every row, and the counts."""
    for row in found:
        print(
            f"{row['id']:34} {row['family']:13} {row['verdict']:22} "
            f"{'GAINED' if row['gained'] else '':7}{'control gains' if row['control_gained'] else '':14}"
            f"{'' if row['as_expected'] else 'NOT AS EXPECTED'}"
        )
    attacks = [row for row in found if row["gain"]]
    counted = [row for row in attacks if row["control_gained"]]
    gained = sum(row["gained"] for row in attacks)
    print(f"{len(attacks)} attacks, {len(counted)} of which gain from a naive grader; {gained} gained here")


def read(names: Sequence[str]) -> list[Attack]:
    """All programs, the honest ones first and the hostile ones last."""
    attacks = []
    for path in sorted(PROGRAMS.iterdir()):
        if path.suffix not in (".py", ".cu"):
            continue
        match = _HEADER.search(path.read_text("utf-8").partition("\n")[0])
        if match is None:
            raise SystemExit(f"{path.name}: its first line does not say what it is")
        expected = tuple(Verdict(verdict) for verdict in match[3].split(","))
        attacks.append(Attack(path.name, path.read_bytes(), match[1], match[2], expected, match[4] or ""))
    order = {"honest": 0, "hostile": 2}
    attacks.sort(key=lambda attack: order.get(attack.family, 1))
    if names:
        attacks = [a for a in attacks if a.family == "honest" or a.name.startswith(tuple(names))]
    # The first once more at the end: is the device still well?
    return [*attacks, replace(attacks[0], name=f"after_all_{attacks[0].name}")]


def outcome(attack: Attack, session: sessions.Session) -> dict[str, Any]:
    """Verdict, time and evidence of one session."""
    row: dict[str, Any] = {
        "verdict": session.verdict.value,
        "as_expected": session.verdict in attack.expected,
        "message": session.message[:300],
        "session_seconds": session.seconds,
    }
    if not session.timings:
        return row
    timing = session.timings[-1]
    result = timing.result
    row["rounds"] = len(result.rounds)
    row["calls"] = result.calls
    if timing.evidence:
        evidence = timing.evidence[0]
        row |= {"evidence": evidence.kind, "measured": evidence.measured, "limit": evidence.limit}
    if result.probe is not None:
        row |= {"probe_seconds": result.probe.seconds, "probe_error_seconds": result.probe.standard_error}
    if result.rounds:
        row |= {"seconds": sorted(result.rounds)[len(result.rounds) // 2], "witnesses": timing.detail[-200:]}
    return row


if __name__ == "__main__":
    sys.exit(main())
