"""What a chaos run has done to the submissions, recomputed from the students' log alone.

The server's counters are what is held against it, never what it is built from.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.assignment import FEW, FEW_LIMIT
from tests.chaos.plan import CHARGED, SANDBOXED, VERDICTS
from tests.chaos.students import FINAL

Line = Mapping[str, Any]


@dataclass
class Outcome:
    """Ids of submissions, by what became of them; and what else is not as it must be."""

    submitted: set[str] = field(default_factory=set)
    """Answered with their URL."""
    found: set[str] = field(default_factory=set)
    """Taken without that anybody learnt it."""
    sandboxed: set[str] = field(default_factory=set)
    """For the real judge, and run by it: what was cancelled before is none of these."""
    final: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    double: set[str] = field(default_factory=set)
    stuck: set[str] = field(default_factory=set)
    grader_errors: set[str] = field(default_factory=set)
    """Of works that were not told to end so: their attempts were killed three times."""
    reruns: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether the promise was kept."""
        return not (self.lost or self.double or self.stuck or self.faults)


def read(path: Path) -> list[Line]:
    """The lines of a log."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def audit(log: Sequence[Line]) -> Outcome:
    """The outcome of a run whose log is complete."""
    outcome = Outcome()
    told = {line["id"]: line for line in log if line["event"] in ("answered", "found")}
    outcome.submitted = {line["id"] for line in log if line["event"] == "answered"}
    outcome.found = set(told) - outcome.submitted
    ran = {line["id"] for line in log if line["event"] == "ran"}
    outcome.sandboxed = {key for key, line in told.items() if line["kind"].startswith(SANDBOXED)} & ran
    reads = {line["id"]: line for line in log if line["event"] == "read"}
    listed = Counter(line["id"] for line in log if line["event"] == "listed")
    for identity in told:
        end = reads.get(identity)
        if end is None or end["state"] is None or not listed[identity]:
            outcome.lost.add(identity)
        elif end["state"] in FINAL:
            outcome.final.add(identity)
        else:
            outcome.stuck.add(identity)
    outcome.double |= {identity for identity, count in listed.items() if count > 1}
    outcome.double |= _changed_after_the_end(log)
    outcome.double |= _handed_in_twice(told)
    _check_rows(log, told, reads, outcome)
    _check_verdicts(log, told, reads, outcome)
    _check_quotas(log, told, reads, outcome)
    _check_boards(log, told, reads, outcome)
    _check_numbers(log, outcome)
    _check_unknown(log, told, outcome)
    outcome.faults += [
        f"left behind: {line['what']}" for line in log if line["event"] == "left" and line["what"]
    ]
    outcome.reruns = sum(line["event"] == "rerun" for line in log)
    return outcome


def _changed_after_the_end(log: Iterable[Line]) -> set[str]:
    """Submissions that were final, that nobody asked to grade again, and that were then seen otherwise."""
    final: dict[str, Line] = {}
    changed = set()
    for line in log:
        if line["event"] == "rerun":
            final.pop(line["id"], None)
        elif line["event"] in ("state", "read") and line["id"] in final:
            keys = ("state", "verdict", "points", "fraction", "finished")
            if any(line.get(key) != final[line["id"]].get(key) for key in keys):
                changed.add(line["id"])
        elif line["event"] == "state" and line["state"] in FINAL:
            final[line["id"]] = line
    return changed


def _handed_in_twice(told: Mapping[str, Line]) -> set[str]:
    count = Counter(line["nonce"] for line in told.values())
    return {identity for identity, line in told.items() if count[line["nonce"]] > 1}


def _check_rows(
    log: Iterable[Line], told: Mapping[str, Line], reads: Mapping[str, Line], outcome: Outcome
) -> None:
    """One Report that counts for what has a verdict; one score for what was accepted, none for the rest."""
    rows = {line["id"]: line for line in log if line["event"] == "rows"}
    for identity, line in told.items():
        end, found = reads.get(identity), rows.get(identity)
        if end is None or found is None:
            continue
        done = end["state"] == "done"
        scored = done and line["mode"] == "grade" and end["verdict"] == "accepted"
        if found["scores"] > scored or found["reports"] > 1 or (done and found["reported"] != 1):
            outcome.double.add(identity)
        elif found["scores"] < scored or (done and not found["reports"]):
            outcome.faults.append(f"{identity}: no score or no Report is counted")
        if found["open"]:
            outcome.faults.append(f"{identity}: an attempt is still open")


def _check_verdicts(
    log: Sequence[Line], told: Mapping[str, Line], reads: Mapping[str, Line], outcome: Outcome
) -> None:
    cancelled = {line["id"] for line in log if line["event"] == "cancel"}
    superseded = _superseded(told)
    hit = {line["id"] for line in log if line["event"] == "hit"}
    refused = {line["id"] for line in log if line["event"] == "rerun refused"}
    stood_still = _stood_still(log) & outcome.sandboxed
    attempts = {line["id"]: line["attempts"] for line in log if line["event"] == "ran"}
    for line in log:
        if line["event"] == "state" and line["state"] == "grader_error" and told[line["id"]]["kind"] != "die":
            outcome.grader_errors.add(line["id"])
    for identity in outcome.final:
        line, end = told[identity], reads[identity]
        allowed = {_planned(line["kind"])}
        if identity in cancelled or identity in superseded:
            allowed.add(("cancelled", None))
        if identity in hit:
            allowed.add(("done", "runtime_error"))
        if identity in stood_still:
            allowed.add(("done", "time_limit"))
        if identity in refused:
            allowed.add(("grader_error", "grader_error"))
        if (end["state"], end["verdict"]) not in allowed:
            outcome.faults.append(
                f"{identity} ({line['kind']}, {line['nonce']}): {end['state']}, {end['verdict']}"
            )
        if end["nonce"] != line["nonce"]:
            outcome.faults.append(
                f"{identity}: its content is that of {end['nonce']}, not of {line['nonce']}"
            )
        if end["state"] == "done" and end["attempt"] not in attempts.get(identity, ()):
            outcome.faults.append(f"{identity}: no judge ran its attempt {end['attempt']}")
        scored = end["verdict"] == "accepted" and line["mode"] == "grade"
        if scored and end["fraction"] != line["fraction"]:
            outcome.faults.append(f"{identity}: {end['fraction']} instead of {line['fraction']}")


def _planned(kind: str) -> tuple[str, str | None]:
    """State and verdict in which a work of that kind must end, when nothing befalls it."""
    verdict = VERDICTS.get("pass" if kind == "slow" else kind)
    return ("grader_error", "grader_error") if verdict is None else ("done", verdict)


def _stood_still(log: Sequence[Line]) -> set[str]:
    """Submissions that were under way when the machine stood still: the deadlines of a real judge passed."""
    # What was taken without an answer was under way since nobody knows when.
    going = {line["id"] for line in log if line["event"] == "found"}
    found: set[str] = set()
    for line in log:
        if line["event"] == "standstill":
            found |= going
        elif line["event"] == "answered":
            going.add(line["id"])
        elif line["event"] == "state" and line["state"] in FINAL:
            going.discard(line["id"])
        elif line["event"] == "rerun":
            going.add(line["id"])
    return found


def _superseded(told: Mapping[str, Line]) -> set[str]:
    """Tests after which the same student handed in another test: the earlier one may have been left out."""
    last: dict[tuple[str, str], int] = defaultdict(int)
    tests = {key: line for key, line in told.items() if line["mode"] == "test"}
    for line in tests.values():
        owner = (line["student"], line["assignment"])
        last[owner] = max(last[owner], line["number"])
    return {key for key, line in tests.items() if line["number"] < last[line["student"], line["assignment"]]}


def _check_quotas(
    log: Sequence[Line], told: Mapping[str, Line], reads: Mapping[str, Line], outcome: Outcome
) -> None:
    used: Counter[tuple[str, str]] = Counter()
    probed: Counter[str] = Counter()
    for identity, line in told.items():
        end = reads.get(identity)
        if end and end["state"] == "done" and line["mode"] == "grade" and end["verdict"] in CHARGED:
            used[line["student"], line["assignment"]] += 1
            probed[line["student"]] += line["nonce"].startswith("p")
    refusals: dict[str, list[str]] = defaultdict(list)
    for line in log:
        if line["event"] == "quota" and line["used"] != used[line["student"], line["assignment"]]:
            outcome.faults.append(
                f"quota of {line['student']} in {line['assignment']}: {line['used']} instead of "
                f"{used[line['student'], line['assignment']]}"
            )
        if line["event"] == "refused":
            refusals[line["student"]].append(line["nonce"])
            if line["code"] != "no_attempts_left" or line["assignment"] != FEW:
                outcome.faults.append(f"{line['student']} was refused {line['nonce']}: {line['code']}")
    for line in log:
        if line["event"] != "probing":
            continue
        student = line["student"]
        before = used[student, FEW] - probed[student]
        refused = sum(nonce.startswith("p") for nonce in refusals[student])
        if (probed[student], refused) != (FEW_LIMIT - before, line["number"] - FEW_LIMIT + before):
            outcome.faults.append(
                f"{student} had used {before} of {FEW_LIMIT}; of {line['number']} more, "
                f"{probed[student]} were graded and {refused} refused"
            )


def _check_boards(
    log: Sequence[Line], told: Mapping[str, Line], reads: Mapping[str, Line], outcome: Outcome
) -> None:
    best: dict[tuple[str, str], float] = {}
    for identity, line in told.items():
        end = reads.get(identity)
        if end and end["state"] == "done" and end["verdict"] == "accepted" and line["mode"] == "grade":
            key = (line["assignment"], line["student"])
            if line["fraction"] is not None:
                best[key] = max(best.get(key, 0.0), line["fraction"])
    entries = [line for line in log if line["event"] == "entry"]
    found = {(line["assignment"], line["student"]): line["fraction"] for line in entries}
    if len(found) != len(entries):
        outcome.faults.append("somebody stands twice on a board")
    for key in best.keys() | found.keys():
        if best.get(key) != found.get(key):
            outcome.faults.append(
                f"board of {key[0]}: {key[1]} has {found.get(key)} instead of {best.get(key)}"
            )


def _check_numbers(log: Sequence[Line], outcome: Outcome) -> None:
    numbers: dict[tuple[str, str], list[int]] = defaultdict(list)
    for line in log:
        if line["event"] == "listed":
            numbers[line["student"], line["assignment"]].append(line["number"])
    for (student, assignment), found in numbers.items():
        if sorted(found) != list(range(1, len(found) + 1)):
            outcome.faults.append(f"numbers of {student} in {assignment}: {sorted(found)}")


def _check_unknown(log: Sequence[Line], told: Mapping[str, Line], outcome: Outcome) -> None:
    """Only what was sent without an answer can have been taken without one."""
    unanswered = {line["nonce"] for line in log if line["event"] == "unanswered"}
    for identity in outcome.found:
        if told[identity]["nonce"] not in unanswered:
            outcome.faults.append(f"{identity} was taken, but nobody sent it")
    for line in log:
        if line["event"] == "listed" and line["id"] not in told:
            outcome.faults.append(f"{line['id']} is listed, but nobody handed it in")
