"""The committed result is of the programs that are here, of this sandbox and of one judge; what is amiss is not held."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import hostile
from grader.judge import environment

SINCE: dict[str, dict[str, str]] = {}
"""What has changed in the sandbox since a result and lets nothing out that was held, by the digest after it."""
UPLOADS = hostile.PROGRAMS / "uploads"


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(hostile.OUTPUT.read_text("utf-8"))
    return found


def test_it_is_of_every_program_as_it_is_now(result: dict[str, Any]) -> None:
    found: dict[str, dict[str, str]] = {}
    for row in result["rows"]:
        if "program" in row:
            found.setdefault(row["backend"], {})[row["program"]] = row.get("digest", "")
    now = hostile.digests()
    uploads = {path.name: now[path.name] for path in UPLOADS.glob("*.py")}
    programs = {name: digest for name, digest in now.items() if name not in uploads}
    assert len(programs) == len(list(hostile.PROGRAMS.glob("*.*"))), "an upload has the name of a program"
    expected = {"bubblewrap": programs, "docker": programs, hostile.NO_SANDBOX: uploads}
    for backend, wanted in expected.items():
        stale = {name for name, digest in wanted.items() if found.get(backend, {}).get(name) != digest}
        assert not stale, f"{backend}: not of these programs as they are now: make hostile"
    assert {backend: wanted.keys() for backend, wanted in expected.items()} == {
        backend: rows.keys() for backend, rows in found.items()
    }


def test_it_is_of_one_judge_and_of_this_sandbox(result: dict[str, Any]) -> None:
    judges = {row.get("judge", "") for row in result["rows"] if "program" in row}
    assert judges == {result["judge_version"]} != {""}, "make hostile"
    measured, now = result["environment"]["sandbox"], hostile.sandbox_digest()
    assert now in (measured, *SINCE.get(measured, {})), (
        f"hostile.json is of the sandbox {measured}, the code is {now}: make hostile, or name the change in SINCE "
        "if it can let nothing out"
    )


PROGRAM = "heap.py"
FINE = {"verdict": "time_limit", "expected": "time_limit", "escaped": False, "left": 0, "canary": "accepted"}


def records(check: str = "", **amiss: object) -> list[dict[str, Any]]:
    """What all checks of a program record if all is well but one thing of one check."""
    common = {"program": PROGRAM, "family": "time", "backend": "docker", "commit": "c"}
    common |= {"digest": hostile.digests()[PROGRAM], "judge": environment.judge_version()}
    found: dict[str, dict[str, Any]] = {
        "contained": {**FINE, "expected_at_build": "build_error", "verdict_at_build": "build_error"},
        "rank": FINE,
        "control": {"lift": "cpu", "expected": "harm", "harmful": True},
    }
    return [
        {**common, "check": name, **fields, **(amiss if name == check else {})}
        for name, fields in found.items()
    ]


@pytest.mark.parametrize(
    ("check", "amiss"),
    [
        *(("contained", one) for one in ({"verdict": "accepted"}, {"verdict_at_build": "accepted"})),
        *(
            (check, one)
            for check in ("contained", "rank")
            for one in (
                {"escaped": True},
                {"left": 1},
                {"canary": "grader_error: x"},
                {"verdict": "accepted"},
            )
        ),
        ("control", {"harmful": False}),
    ],
)
def test_one_thing_amiss_is_not_held(check: str, amiss: dict[str, object]) -> None:
    (fine,) = hostile.program_rows(records())
    (row,) = hostile.program_rows(records(check, **amiss))
    assert (fine["held"], row["held"]) == (True, False)
    assert [sums["not_held"] for sums in hostile.summary_rows([row])] == [1]


@pytest.mark.parametrize("check", hostile.CHECKS)
def test_what_was_not_tried_is_not_held(check: str) -> None:
    (row,) = hostile.program_rows([record for record in records() if record["check"] != check])
    assert not row["held"]


def test_the_sandbox_is_its_code_whatever_is_said_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "grader" / "sandbox" / "a.py"
    file.parent.mkdir(parents=True)
    monkeypatch.setattr(hostile, "ROOT", tmp_path)

    def digest(code: str) -> str:
        file.write_text(code)
        return hostile.sandbox_digest()

    code = 'def f():\n    "A."\n    return 5\n'
    assert (
        digest(code)
        == digest(code.replace("A.", "B.").replace(":", ":  # C"))
        != digest(code.replace("5", "6"))
    )


@pytest.mark.parametrize("stale", [{}, {"digest": "0"}, {"judge": "0"}, {"judge": None}])
def test_what_was_found_of_another_program_or_judge_is_tried_again(
    tmp_path: Path, stale: dict[str, Any]
) -> None:
    path = tmp_path / "records"
    path.write_text("".join(json.dumps({**record, **stale}) + "\n" for record in records()))
    lacking = hostile.missing(path, ["docker"])
    assert (PROGRAM in lacking) == bool(stale)
    assert len(hostile.current(hostile.read(path))) == (0 if stale else 3)
    assert lacking.keys() | {PROGRAM} == hostile.digests().keys()
