"""The wire: what is read, what is refused, and that the committed schemas are those of the code."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import grader
from grader import contract
from grader.contract import (
    REPORT_BYTES,
    VERSION,
    ContractError,
    Environment,
    Event,
    FailureClass,
    JobSpec,
    Mode,
    Phase,
    Report,
    SourceFile,
    StaffDetail,
    Target,
    Text,
    Verdict,
    VersionError,
    read,
)

SHA = "0" * 64
WIRE = Path(__file__).with_name("wire")


def job(**changes: Any) -> JobSpec:
    values: dict[str, Any] = {
        "submission": "s1",
        "attempt": 1,
        "token": "t" * 16,
        "mode": Mode.GRADE,
        "assignment": "kernels/add-rmsnorm",
        "bundle": SHA,
        "files": (SourceFile(name="solution.py", sha256=SHA, size=3),),
        "target": Target(hardware="cpu"),
        "deadline": 1e9,
    }
    return JobSpec(**(values | changes))


def report(**changes: Any) -> Report:
    values: dict[str, Any] = {
        "submission": "s1",
        "attempt": 1,
        "token": "t" * 16,
        "mode": Mode.GRADE,
        "assignment": "kernels/add-rmsnorm",
        "bundle": SHA,
        "target": Target(hardware="cpu"),
        "verdict": Verdict.ACCEPTED,
        "message": Text(code="accepted", en="yes", zh="是"),
        "started": 0.0,
        "seconds": 1.0,
        "environment": Environment(
            judge_version="1", hardware="cpu", hardware_name="x", sandbox="plain", freezer="none"
        ),
    }
    return Report(**(values | changes))


def changed(document: JobSpec | Report | Event, **changes: Any) -> str:
    return json.dumps(json.loads(document.model_dump_json()) | changes)


def test_the_committed_schema_is_that_of_the_code() -> None:
    committed = json.loads((Path(grader.__file__).parent / "contract.schema.json").read_text("utf-8"))
    assert committed == contract.json_schemas(), (
        "the wire format changed: raise VERSION if a release has it (CONTRIBUTING.md says how), then write "
        "json_schemas() to grader/contract.schema.json"
    )


@pytest.mark.parametrize(
    "document",
    [job(), report(), Event(attempt=1, seq=1, time=0.0, phase=Phase.BUILD, text="g++")],
    ids=lambda document: type(document).__name__,
)
def test_what_is_written_is_read_back(document: Any) -> None:
    assert read(type(document), document.model_dump_json()) == document
    assert read(type(document), document.model_dump_json().encode()) == document


def _of_the_version_before(model: type[JobSpec] | type[Report] | type[Event]) -> str:
    """A document that the grader of the version before wrote, whole, while it graded for real."""
    name = {JobSpec: "job_spec", Report: "report", Event: "event"}[model]
    return (WIRE / str(VERSION - 1) / f"{name}.json").read_text("utf-8")


@pytest.mark.parametrize("model", [JobSpec, Report, Event])
def test_what_the_version_before_wrote_is_read_with_all_that_it_says(model: Any) -> None:
    text = _of_the_version_before(model)
    said = json.loads(text)
    found = read(model, text)
    assert said["version"] == VERSION - 1
    assert found.version == VERSION
    written = json.loads(found.model_dump_json())
    assert list(_lost(said | {"version": VERSION}, written)) == []
    assert read(model, found.model_dump_json()) == found


def _lost(said: Any, found: Any, place: str = "") -> Iterator[str]:
    """Where what was said is not found again; what was added is no loss."""
    if isinstance(said, dict):
        for key, value in said.items():
            yield from [f"{place}.{key}"] if key not in found else _lost(value, found[key], f"{place}.{key}")
    elif isinstance(said, list) and len(said) == len(found):
        for number, (one, other) in enumerate(zip(said, found, strict=True)):
            yield from _lost(one, other, f"{place}[{number}]")
    elif said != found:
        yield f"{place}: {said!r} became {found!r}"


def test_any_other_version_is_refused_and_told_whom_to_upgrade() -> None:
    with pytest.raises(VersionError, match=r"upgrade this reader"):
        read(JobSpec, changed(job(), version=VERSION + 1))
    with pytest.raises(VersionError, match=r"upgrade the sender"):
        read(JobSpec, changed(job(), version=VERSION - 2))


@pytest.mark.parametrize("version", [None, "1", True, 1.0, [1], {}], ids=repr)
def test_a_version_that_is_no_integer_is_refused(version: object) -> None:
    with pytest.raises(ContractError):
        read(JobSpec, changed(job(), version=version))


def test_a_document_without_a_version_is_refused() -> None:
    document = json.loads(job().model_dump_json())
    del document["version"]
    with pytest.raises(VersionError):
        read(JobSpec, json.dumps(document))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ('{"version": 1} x', "not JSON"),
        (b"\xff\xfe{}", "not JSON"),
        ("[]", "object is needed"),
        ("null", "object is needed"),
        ('"text"', "object is needed"),
        ("[" * 100_000, "not JSON"),
        ('{"version": 1, "version": 1}', "twice"),
        ('{"version": 1, "deadline": NaN}', "NaN"),
        ('{"version": 1, "deadline": Infinity}', "Infinity"),
    ],
    ids=[
        "empty",
        "cut",
        "trailing",
        "bytes",
        "list",
        "null",
        "string",
        "nested",
        "duplicate",
        "nan",
        "infinity",
    ],
)
def test_what_is_no_document_is_refused_by_name(text: str | bytes, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        read(JobSpec, text)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"attempt": 0}, "attempt"),
        ({"attempt": "1"}, "attempt"),
        ({"attempt": True}, "attempt"),
        ({"bundle": "xyz"}, "bundle"),
        ({"assignment": "../../etc/passwd"}, "assignment"),
        ({"files": []}, "files"),
        ({"mode": "cheat"}, "mode"),
        ({"surprise": 1}, "surprise"),
        ({"deadline": None}, "deadline"),
        ({"token": "short"}, "token"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_a_wrong_value_is_refused_by_its_key(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(ContractError, match=key):
        read(JobSpec, changed(job(), **changes))


def test_numbers_too_large_for_a_float_are_refused() -> None:
    text = job().model_dump_json().replace('"deadline":1000000000.0', '"deadline":1e999')
    assert "1e999" in text
    with pytest.raises(ContractError):
        read(JobSpec, text)


def test_a_duplicate_deep_inside_is_refused() -> None:
    text = job().model_dump_json().replace('"devices":1', '"devices":1,"devices":2')
    with pytest.raises(ContractError, match="twice"):
        read(JobSpec, text)


@pytest.mark.parametrize("model", [JobSpec, Report, Event])
def test_a_document_that_is_too_large_is_refused_before_it_is_parsed(model: Any) -> None:
    for data in (b"[" * (REPORT_BYTES + 1), "\u20ac" * (REPORT_BYTES // 2)):
        with pytest.raises(ContractError, match=rf"at most {REPORT_BYTES} are read"):
            read(model, data)


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(ContractError):
        read(JobSpec, changed(job(), submission="\ud800"))


def test_nesting_that_json_reads_but_no_field_holds_is_refused() -> None:
    with pytest.raises(ContractError):
        read(Report, report().model_dump_json()[:-1] + ',"timed":' + "[" * 500 + "]" * 500 + "}")


def test_a_student_sees_neither_staff_detail_nor_evidence_nor_token() -> None:
    whole = report(
        staff=StaffDetail(seed="secret"),
        evidence=(contract.Evidence(kind="gap", text="secret"),),
        token="secret-secret-secret",
    )
    assert "secret" not in whole.for_student().model_dump_json()


def test_every_verdict_has_a_failure_class_and_only_students_pay() -> None:
    classes = {verdict: verdict.failure_class for verdict in Verdict}
    assert classes[Verdict.ACCEPTED] is FailureClass.NONE
    assert classes[Verdict.UNSTABLE_TIMING] is FailureClass.INFRASTRUCTURE
    assert classes[Verdict.FASTER_THAN_LIGHT] is FailureClass.INTEGRITY
    assert classes[Verdict.ASSIGNMENT_ERROR] is FailureClass.ASSIGNMENT
    assert FailureClass.NONE not in {
        found for verdict, found in classes.items() if verdict != Verdict.ACCEPTED
    }


@pytest.mark.parametrize(
    "limits",
    [
        {"wall_seconds": 1e300},
        {"wall_seconds": 86401.0},
        {"build_seconds": float("inf")},
        {"cpu_seconds": 1e12},
        {"memory_bytes": 10**30},
        {"processes": 10**9},
        {"output_bytes": 1 << 40},
    ],
)
def test_no_limit_is_beyond_reason(limits: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        contract.JobLimits.model_validate(limits)
