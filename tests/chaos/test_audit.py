"""The audit of chaos runs finds what is lost, double or stuck: each of its checks can fail."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.chaos.audit import audit

MANY = "kernels/many"


def told(identity: str, nonce: str, student: str = "s00", number: int = 1, **fields: Any) -> dict[str, Any]:
    values = {"assignment": "kernels/many", "kind": "pass", "mode": "grade", "fraction": 0.5}
    return (
        {"event": "answered", "id": identity, "nonce": nonce, "student": student, "number": number}
        | values
        | fields
    )


def seen(identity: str, state: str = "done", **fields: Any) -> dict[str, Any]:
    values = {"verdict": "accepted", "points": 50.0, "fraction": 0.5, "finished": "then"}
    return {"event": "state", "id": identity, "state": state} | values | fields


def good() -> list[dict[str, Any]]:
    """Two students, three submissions, one of which nobody was told of."""
    log: list[dict[str, Any]] = [
        told("a", "n0"),
        told("b", "n1", number=2, kind="wrong", fraction=0.9),
        {"event": "unanswered", "nonce": "u0"},
        seen("a", "running"),
        seen("a"),
        seen("b", verdict="wrong_answer", points=None, fraction=None),
        told("c", "u0", "s01", event="found"),
        seen("c"),
    ]
    ends = [
        (line, {key: line[key] for key in line if key not in ("event", "id")})
        for line in log
        if line["event"] == "state"
    ]
    nonces = {"a": "n0", "b": "n1", "c": "u0"}
    for line, fields in ends[1:]:
        identity = line["id"]
        log.append({"event": "read", "id": identity, "nonce": nonces[identity], "attempt": 1, **fields})
        log.append({"event": "ran", "id": identity, "attempts": [1]})
        scored = int(identity != "b")
        log.append(
            {"event": "rows", "id": identity, "scores": scored, "reports": 1, "reported": 1, "open": 0}
        )
    for identity, student, number in (("a", "s00", 1), ("b", "s00", 2), ("c", "s01", 1)):
        line = {"event": "listed", "id": identity, "student": student, "number": number}
        log.append(line | {"assignment": "kernels/many"})
    for student, used, few in (("s00", 2, 0), ("s01", 1, 0)):
        log.append({"event": "quota", "student": student, "assignment": "kernels/many", "used": used})
        log.append({"event": "quota", "student": student, "assignment": "kernels/few", "used": few})
        log.append({"event": "entry", "student": student, "assignment": "kernels/many", "fraction": 0.5})
    return log


def change(event: str, identity: str, **fields: Any) -> Callable[[list[dict[str, Any]]], None]:
    def apply(log: list[dict[str, Any]]) -> None:
        found = [
            line
            for line in log
            if line["event"] == event and identity in (line.get("id"), line.get("student"), line.get("nonce"))
        ]
        assert found
        found[0] |= fields

    return apply


def drop(event: str, identity: str) -> Callable[[list[dict[str, Any]]], None]:
    def apply(log: list[dict[str, Any]]) -> None:
        log[:] = [line for line in log if (line["event"], line.get("id")) != (event, identity)]

    return apply


def add(**line: Any) -> Callable[[list[dict[str, Any]]], None]:
    return lambda log: log.append(line)


def test_a_good_run_is_good() -> None:
    outcome = audit(good())
    assert outcome.is_good, outcome
    assert (outcome.submitted, outcome.found, outcome.final) == ({"a", "b"}, {"c"}, {"a", "b", "c"})


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (change("read", "a", state=None), "lost"),
        (drop("listed", "a"), "lost"),
        (drop("read", "a"), "lost"),
        (change("read", "a", state="running"), "stuck"),
        (change("read", "a", state="queued"), "stuck"),
        (change("read", "a", finished="later"), "double"),
        (change("read", "a", points=51.0), "double"),
        (add(**seen("a", verdict="wrong_answer")), "double"),
        (change("rows", "a", scores=2), "double"),
        (change("rows", "b", scores=1), "double"),
        (change("rows", "a", reports=2), "double"),
        (change("rows", "a", reported=2), "double"),
        (change("answered", "b", nonce="n0"), "double"),
        (add(event="listed", id="a", student="s00", number=3, assignment="kernels/many"), "double"),
    ],
)
def test_what_went_wrong_is_found(damage: Callable[[list[dict[str, Any]]], None], what: str) -> None:
    log = good()
    damage(log)
    outcome = audit(log)
    assert getattr(outcome, what), outcome
    assert not outcome.is_good


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (change("quota", "s00", used=3), "quota of s00"),
        (change("rows", "a", scores=0), "no score"),
        (change("rows", "a", open=1), "still open"),
        (change("read", "a", nonce="n1"), "its content is that of"),
        (change("read", "a", attempt=2), "no judge ran"),
        (change("entry", "s00", fraction=0.9), "board of kernels/many"),
        (add(event="entry", student="s00", assignment="kernels/many", fraction=0.5), "twice on a board"),
        (change("listed", "b", number=3), "numbers of s00"),
        (change("unanswered", "u0", nonce="u1"), "nobody sent it"),
        (add(event="listed", id="x", student="s01", number=2, assignment=MANY), "nobody handed it in"),
        (add(event="left", what=["process 7"]), "left behind"),
        (add(event="refused", student="s00", nonce="n9", code="invalid", assignment=MANY), "refused n9"),
        (add(event="probing", student="s00", number=7), "had used 0 of 4; of 7 more, 0 were"),
        (change("answered", "a", kind="die"), "a (die, n0): done"),
        (change("answered", "a", fraction=0.4), "0.5 instead of 0.4"),
    ],
)  # fmt: skip
def test_what_is_not_as_it_must_be_is_named(
    damage: Callable[[list[dict[str, Any]]], None], fault: str
) -> None:
    log = good()
    damage(log)
    outcome = audit(log)
    assert any(fault in found for found in outcome.faults), outcome


def test_in_a_sandbox_is_what_ran_there() -> None:
    log = good()
    change("answered", "a", kind="real")(log)
    change("answered", "b", kind="real_wrong")(log)
    assert audit(log).sandboxed == {"a", "b"}
    drop("ran", "a")(log)
    assert audit(log).sandboxed == {"b"}


def test_a_change_that_was_asked_for_is_none() -> None:
    log = good()
    at = log.index(seen("a"))
    log[at:at] = [
        seen("a", "grader_error", verdict="grader_error", points=None),
        {"event": "rerun", "id": "a"},
    ]
    outcome = audit(log)
    assert outcome.is_good, outcome
    assert outcome.grader_errors == {"a"}


def slow(log: list[dict[str, Any]]) -> None:
    """The second submission, of the real judge, ended as too slow."""
    change("answered", "b", kind="real")(log)
    change("state", "b", verdict="time_limit")(log)
    change("read", "b", verdict="time_limit")(log)


def test_a_machine_that_stood_still_makes_nobody_else_too_slow() -> None:
    log = good()
    slow(log)
    assert audit(log).faults == ["b (real, n1): done, time_limit"]
    still = {"event": "standstill", "seconds": 300.0}
    assert audit([still, *log]).faults  # Before it was handed in.
    end = next(n for n, line in enumerate(log) if (line["event"], line.get("id")) == ("state", "b"))
    assert audit([*log[: end + 1], still, *log[end + 1 :]]).faults  # After it was final.
    assert audit([*log[:end], still, *log[end:]]).is_good
    change("answered", "b", kind="wrong")(log)
    assert audit([*log[:end], still, *log[end:]]).faults  # A stand-in has no deadline.
