"""Dialogues in one real sandbox: what crosses, what is refused, and whose fault each failure is."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from grader import contract
from grader.contract import Language, Verdict
from grader.judge import dialogue
from grader.judge.client import Client
from grader.judge.failure import AssignmentFault
from grader.sandbox import registry
from grader.sandbox.base import Limits
from grader.task import BlobRegion, Candidate, Case, DialogueTask, Json, Outcome, Params, Raised

SOURCE = b"""
import time
import torch

print("loaded")
not_a_function = 3
calls = []


def add(a, b):
    return a + b


def echo(value):
    print("echo")
    return value


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


def tensors():
    return {"t": torch.arange(3), "x": torch.tensor(0.5), "n": (1, None, True)}


def refuse(why):
    raise ValueError(why)


def odd():
    class Odd(Exception):
        def __str__(self):
            raise RuntimeError

    raise Odd


def big():
    return "x" * 70_000


def infinite():
    return [float("inf")]


def huge():
    return [10**400]


def a_set():
    return {1, 2}


def sleep(seconds):
    time.sleep(seconds)
    return "slept"


def leave():
    raise SystemExit(3)


def keys():
    return {1: 2}


def forge(frames):
    import os
    import struct

    for body in frames:
        os.write(4, struct.pack("<I", len(body)) + body.encode())
    return "forged"


def surrogate():
    return "a\\ud800\\x1b[31mb"


def bits():
    return torch.tensor([True, False])
"""

ADAPTER = b"""
import torch


def answer(module, method, message, regions):
    if method == "double":
        regions.write("out", regions.read("in") * 2)
        return regions.read("in").numel()
    if method == "wrong dtype":
        regions.write("out", torch.zeros(2, dtype=torch.int64))
    if method == "too many":
        regions.write("out", torch.zeros(1001))
    if method == "backwards":
        regions.write("in", torch.zeros(2))
    if method == "forge":
        regions._count(regions._layout["out"]).fill_(message)
    if method == "flags":
        region = regions._layout["flags"]
        regions._arena.memory[region["data"]] = 7
        regions._count(region).fill_(1)
    if method == "broken":
        raise KeyError("adapter")
    return getattr(module, "echo")(message)
"""

REGIONS = (
    BlobRegion("in", "float32", 1000, "to_candidate"),
    BlobRegion("out", "float32", 1000, "from_candidate"),
    BlobRegion("flags", "bool", 3, "from_candidate"),
)
Episode = Callable[[Candidate], Outcome]


@contextmanager
def watch(_what: str, _seconds: float) -> Iterator[None]:
    yield


class Bench:
    """A client that is started anew when a test has ended it."""

    def __init__(self, adapter: bytes | None) -> None:
        self.adapter = adapter
        self.client: Client | None = None

    def take(self) -> Client:
        if self.client is None or not self.client.alive:
            self.close()
            client = Client.start(
                registry.choose("bubblewrap"), Limits(), arena_bytes=1 << 16, language=Language.PYTHON
            )
            client.load({"solution.py": SOURCE}, "", "solution.py", adapter=self.adapter)
            client.output()
            self.client = client
        return self.client

    def close(self) -> None:
        if self.client is not None:
            self.client.close()

    def test(self, episode: Episode, **changes: Any) -> contract.TestResult:
        return dialogue.test(self.take(), task(episode, **changes), case("test"), 7, watch=watch).result

    def price(self, outcome: Outcome) -> dialogue.Priced:
        return dialogue.price(self.take(), task(lambda _c: outcome), case("timed"), 7, watch=watch)


def case(role: Any) -> Case:
    return Case("one", "part", "public", role, {"n": 3})


def task(episode: Episode, regions: Sequence[BlobRegion] = (), **changes: Any) -> DialogueTask:
    def run(given: Case, candidate: Candidate, seed: int) -> Outcome:
        assert (given.id, seed) == ("one", 7)
        assert isinstance(candidate, Candidate)
        return episode(candidate)

    def regions_of(_params: Params) -> Sequence[BlobRegion]:
        return regions

    return DialogueTask(run, regions_of, **changes)


@pytest.fixture(scope="module")
def plain() -> Iterator[Bench]:
    bench = Bench(None)
    yield bench
    bench.close()


@pytest.fixture(scope="module")
def adapted() -> Iterator[Bench]:
    bench = Bench(ADAPTER)
    yield bench
    bench.close()


def passed(*checks: bool) -> Outcome:
    return Outcome(all(checks), f"checks: {checks}", "")


def test_answers_cross_as_plain_json(plain: Bench) -> None:
    def episode(candidate: Candidate) -> Outcome:
        value: Json = {"a": [1, 2.5, None, True, "\u4f60"], "b": {}}
        return passed(
            candidate.ask("add", {"a": 2, "b": 3}) == 5,
            candidate.ask("add", [1 << 62, (1 << 62) - 1]) == (1 << 63) - 1,
            candidate.ask("echo", "one") == "one",
            candidate.ask("echo", [value]) == value,
            candidate.ask("tensors", {}) == {"t": [0, 1, 2], "x": 0.5, "n": [1, None, True]},
            candidate.ask("surrogate", []) == "a\ufffdb",
            candidate.ask("bits", {}) == [True, False],
        )

    result = plain.test(episode)
    assert result.verdict is Verdict.ACCEPTED, result.message
    assert result.stdout.count("echo") == 2
    assert result.params == {"n": 3}


def test_an_exception_of_the_submission_is_a_typed_answer(plain: Bench) -> None:
    seen: list[Any] = []

    def episode(candidate: Candidate) -> Outcome:
        seen.extend([candidate.ask("refuse", {"why": "too thin"}), candidate.ask("odd", {})])
        return Outcome(False, "It raised.", "\u62b1\u6b49\u3002")

    result = plain.test(episode)
    assert seen == [Raised("ValueError", "too thin"), Raised("Odd", "")]
    assert result.verdict is Verdict.WRONG_ANSWER
    assert result.message is not None
    assert (result.message.en, result.message.zh) == ("It raised.", "\u62b1\u6b49\u3002")
    assert "line" in result.stderr  # where it was raised, in the author's file
    assert "/solmark" not in result.stderr


@pytest.mark.parametrize(
    ("method", "message", "verdict", "code"),
    [
        ("nothing", {}, Verdict.RUNTIME_ERROR, "missing_method"),
        ("not_a_function", {}, Verdict.RUNTIME_ERROR, "missing_method"),
        ("add", {"a": 1, "c": 2}, Verdict.RUNTIME_ERROR, "method_signature"),
        ("add", [1], Verdict.RUNTIME_ERROR, "method_signature"),
        ("big", {}, Verdict.WRONG_ANSWER, "answer_size"),
        ("infinite", {}, Verdict.WRONG_ANSWER, "answer_form"),
        ("huge", {}, Verdict.WRONG_ANSWER, "answer_form"),
        ("a_set", {}, Verdict.WRONG_ANSWER, "answer_form"),
        ("keys", {}, Verdict.WRONG_ANSWER, "answer_form"),
        ("nested", [100], Verdict.WRONG_ANSWER, "answer_form"),
        ("leave", {}, Verdict.RUNTIME_ERROR, "exit"),
    ],
)
def test_what_is_no_answer_is_told_and_survived(
    plain: Bench, method: str, message: Any, verdict: Verdict, code: str
) -> None:
    def episode(candidate: Candidate) -> Outcome:
        try:
            candidate.ask(method, message)
        except Exception:  # noqa: BLE001 (an author may catch too much)
            return Outcome(True)
        return Outcome(True)

    client = plain.take()
    result = plain.test(episode)
    assert result.message is not None
    assert (result.verdict, result.message.code) == (verdict, code)
    assert plain.take() is client
    assert plain.test(lambda candidate: passed(candidate.ask("add", [1, 2]) == 3)).verdict is Verdict.ACCEPTED


@pytest.mark.parametrize(
    "frames",
    [
        ["{}"],
        ['{"type": "reply", "id": "' + "0" * 32 + '", "value": "right", "raised": null}'],
        ["x" * 1000] * 3,
        ['{"type": "opened", "id": "' + "0" * 32 + '"}'],
    ],
)
def test_a_forged_answer_is_a_violation(plain: Bench, frames: list[str]) -> None:
    def episode(candidate: Candidate) -> Outcome:
        candidate.ask("forge", [list[Json](frames)])
        return passed(candidate.ask("add", [1, 2]) == 3)

    assert plain.test(episode).verdict is Verdict.SANDBOX_VIOLATION
    assert plain.test(lambda candidate: passed(candidate.ask("add", [1, 2]) == 3)).verdict is Verdict.ACCEPTED


def test_every_message_has_a_deadline_and_the_episode_one_for_all(plain: Bench) -> None:
    begin = time.monotonic()
    late = plain.test(lambda candidate: passed(candidate.ask("sleep", [60]) == ""), message_seconds=0.3)
    assert (late.verdict, late.message and late.message.code) == (Verdict.TIME_LIMIT, "wall")
    later = plain.test(
        lambda candidate: passed(candidate.ask("sleep", [60], deadline_seconds=0.3) == ""), message_seconds=30
    )
    assert later.verdict is Verdict.TIME_LIMIT

    def many(candidate: Candidate) -> Outcome:
        while True:
            candidate.ask("sleep", [0.2])

    assert plain.test(many, episode_seconds=0.7).verdict is Verdict.TIME_LIMIT
    assert time.monotonic() - begin < 60

    def talkative(candidate: Candidate) -> Outcome:
        while True:
            candidate.ask("add", [1, 2])

    too_many = plain.test(talkative, max_messages=2)
    assert (too_many.verdict, too_many.message and too_many.message.code) == (Verdict.TIME_LIMIT, "messages")


@pytest.mark.parametrize(
    "episode",
    [
        lambda candidate: 1 / 0,
        lambda _candidate: None,
        lambda candidate: candidate.ask("echo", "x" * 70_000),
        lambda candidate: candidate.ask("echo", float("nan")),
        lambda candidate: candidate.ask("echo", {1, 2}),
        lambda candidate: candidate.write("nowhere", torch.zeros(1)),
        lambda candidate: candidate.write("out", torch.zeros(1)),
        lambda candidate: candidate.write("in", torch.zeros(1, dtype=torch.float64)),
        lambda candidate: candidate.write("in", torch.zeros(1001)),
    ],
)
def test_the_episodes_own_faults_are_the_assignments(plain: Bench, episode: Episode) -> None:
    with pytest.raises(AssignmentFault):
        plain.test(episode, regions=REGIONS)


def test_blobs_cross_through_the_arena(adapted: Bench) -> None:
    values = torch.randn(10, 100)

    def episode(candidate: Candidate) -> Outcome:
        empty = candidate.read("out").numel()
        candidate.write("in", values)
        count = candidate.ask("double", None)
        found = candidate.read("out")
        return passed(empty == 0, count == 1000, torch.equal(found, values.flatten() * 2))

    result = adapted.test(episode, regions=REGIONS)
    assert result.verdict is Verdict.ACCEPTED, result.message
    again = adapted.test(lambda candidate: passed(candidate.read("out").numel() == 0), regions=REGIONS)
    assert again.verdict is Verdict.ACCEPTED  # Each episode begins with empty regions.
    assert adapted.test(lambda candidate: passed(candidate.ask("x", [1]) == [1])).verdict is Verdict.ACCEPTED


@pytest.mark.parametrize(
    ("method", "message", "region", "code"),
    [
        ("wrong dtype", None, "out", "answer_form"),
        ("too many", None, "out", "answer_form"),
        ("backwards", None, "out", "answer_form"),
        ("broken", None, "out", "answer_form"),
        ("forge", 1001, "out", "blob_size"),
        ("forge", -1, "out", "blob_size"),
        ("forge", 1 << 62, "out", "blob_size"),
        ("flags", None, "flags", "blob_bool"),
    ],
)
def test_regions_are_checked_on_the_judges_side(
    adapted: Bench, method: str, message: Any, region: str, code: str
) -> None:
    def episode(candidate: Candidate) -> Outcome:
        candidate.ask(method, message)
        candidate.read(region)
        return Outcome(True)

    result = adapted.test(episode, regions=REGIONS)
    assert result.message is not None
    assert (result.verdict, result.message.code) == (Verdict.WRONG_ANSWER, code)


def test_a_price_becomes_a_measure_and_a_fraction(plain: Bench) -> None:
    lower = Outcome(True, value=40.0, bound=30.0, bound_by="banks", quantity="bank cycles", unit="cycles")
    result = plain.price(lower).result
    assert result.verdict is Verdict.ACCEPTED
    assert result.fraction == pytest.approx(0.75)
    assert result.measure is not None
    assert (result.measure.value, result.measure.bound, result.measure.unit) == (40.0, 30.0, "cycles")
    higher = Outcome(True, value=3.0, bound=4.0, better="higher")
    assert plain.price(higher).result.fraction == pytest.approx(0.75)
    assert plain.price(Outcome(True, value=0.0, bound=0.0)).result.fraction == 1.0


def test_a_price_beyond_its_bound_is_for_the_staff(plain: Bench) -> None:
    priced = plain.price(Outcome(True, value=29.0, bound=30.0, bound_by="banks", unit="cycles"))
    assert priced.result.verdict is Verdict.FASTER_THAN_LIGHT
    assert priced.result.fraction is None
    (evidence,) = priced.evidence
    assert (evidence.measured, evidence.limit, evidence.unit) == (29.0, 30.0, "cycles")
    assert plain.price(Outcome(True, value=1.0, bound=1.0 + 1e-12)).result.verdict is Verdict.ACCEPTED


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(True),
        Outcome(True, value=1.0),
        Outcome(True, value=float("nan"), bound=1.0),
        Outcome(True, value=-1.0, bound=1.0),
        Outcome(True, value=1.0, bound=0.0),
    ],
)
def test_a_price_that_is_none_is_the_assignments_fault(plain: Bench, outcome: Outcome) -> None:
    with pytest.raises(AssignmentFault):
        plain.price(outcome)


def test_a_wrong_answer_has_no_price(plain: Bench) -> None:
    result = plain.price(Outcome(False, "wrong", "\u9519", value=1.0, bound=1.0)).result
    assert (result.verdict, result.measure, result.fraction) == (Verdict.WRONG_ANSWER, None, None)
