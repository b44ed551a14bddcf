"""Dialogues in one real sandbox: what crosses, what is refused, and whose fault each failure is."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch

from grader import contract, transcript
from grader.contract import Language, Verdict
from grader.judge import dialogue
from grader.judge.client import Client
from grader.judge.failure import AssignmentFault
from grader.sandbox import registry
from grader.sandbox.base import Limits
from grader.task import (
    BlobRegion,
    Budget,
    Candidate,
    Case,
    DialogueTask,
    DType,
    Json,
    Outcome,
    Params,
    Raised,
    Refused,
    Region,
    TensorRegion,
)

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


class Counter:
    def __init__(self, start):
        self.value = start

    def step(self, by):
        self.value += by
        return self.value

    def broken(self):
        return self.nothing
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
    if method == "train":
        policy = regions.read_tensors("start")
        trained = {name: value + 1 if value.is_floating_point() else value for name, value in policy.items()}
        exec(message, {"torch": torch, "policy": trained})
        regions.write_tensors("policy", trained)
        return None
    if method == "raw":
        regions.write("policy", torch.tensor(list(message.encode("latin-1")), dtype=torch.uint8))
        return None
    return getattr(module, "echo")(message)
"""

REGIONS = (
    BlobRegion("in", "float32", 1000, "to_candidate"),
    BlobRegion("out", "float32", 1000, "from_candidate"),
    BlobRegion("flags", "bool", 3, "from_candidate"),
)
POLICY: dict[str, tuple[DType, tuple[int, ...]]] = {
    "weight": ("float32", (3, 2)),
    "empty": ("bfloat16", (0,)),
    "mask": ("bool", (2,)),
}
NAMED = (
    TensorRegion("start", POLICY, "to_candidate"),
    TensorRegion("policy", POLICY, "from_candidate"),
    TensorRegion("loose", POLICY, "from_candidate", finite=False),
)
START = {
    "weight": torch.arange(6.0).reshape(3, 2),
    "empty": torch.empty(0, dtype=torch.bfloat16),
    "mask": torch.tensor([True, False]),
}
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


def task(episode: Episode, regions: Sequence[Region] = (), **changes: Any) -> DialogueTask:
    def run(given: Case, candidate: Candidate, seed: int) -> Outcome:
        assert (given.id, seed) == ("one", 7)
        assert isinstance(candidate, Candidate)
        return episode(candidate)

    def regions_of(_params: Params) -> Sequence[Region]:
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


def test_named_tensors_cross_without_a_pickle(adapted: Bench) -> None:
    def episode(candidate: Candidate) -> Outcome:
        candidate.write_tensors("start", START)
        candidate.ask("train", "policy['mask'] = torch.tensor([False, True])")
        found = candidate.read_tensors("policy")
        return passed(
            torch.equal(found["weight"], START["weight"] + 1),
            found["empty"].shape == (0,),
            found["empty"].dtype is torch.bfloat16,
            found["mask"].tolist() == [False, True],
        )

    result = adapted.test(episode, regions=NAMED)
    assert result.verdict is Verdict.ACCEPTED, result.message


@pytest.mark.parametrize(
    ("method", "change", "code"),
    [
        ("train", "policy.pop('weight')", "tensor_missing"),
        ("train", "policy.pop('weight'); policy['w'] = torch.zeros(3, 2)", "tensor_missing"),
        ("train", "policy['more'] = torch.zeros(0)", "tensor_unknown"),
        ("train", "policy['weight'] = policy['weight'].t()", "tensor_shape"),
        ("train", "policy['weight'] = policy['weight'].half()", "tensor_shape"),
        ("train", "policy['mask'] = torch.zeros(2, dtype=torch.uint8)", "tensor_shape"),
        (
            "train",
            "policy['weight'][0, 0] = -torch.inf",
            "tensor_not_finite",
        ),
        ("train", "policy['weight'][0, 0] = float('nan')", "tensor_not_finite"),
        ("train", "policy['weight'] = torch.zeros(1000, 1000)", "answer_form"),
        ("train", "policy['weight'] = [1, 2]", "answer_form"),
        ("raw", "", "tensor_nothing"),
        ("raw", "abc", "tensor_file"),
        ("raw", "\x02\0\0\0\0\0\0\0{}", "tensor_missing"),
        ("raw", "\xff" * 8 + "{}", "tensor_file"),
        ("raw", "\x02\0\0\0\0\0\0\0[]", "tensor_missing"),
        ("raw", "\x02\0\0\0\0\0\0\0[1", "tensor_file"),
        ("raw", '\x07\0\0\0\0\0\0\0{"a":1}', "tensor_file"),
        ("raw", "cposix\nsystem\n(S'true'\ntR.", "tensor_file"),
    ],
)
def test_a_policy_of_another_form_is_named(adapted: Bench, method: str, change: str, code: str) -> None:
    def episode(candidate: Candidate) -> Outcome:
        candidate.write_tensors("start", START)
        candidate.ask(method, change)
        candidate.read_tensors("policy")
        return Outcome(True)

    result = adapted.test(episode, regions=NAMED)
    assert result.message is not None
    assert (result.verdict, result.message.code) == (Verdict.WRONG_ANSWER, code), result.message.en


@pytest.mark.parametrize(
    "episode",
    [
        lambda candidate: candidate.write_tensors("start", {}),
        lambda candidate: candidate.write_tensors("start", START | {"weight": torch.zeros(2, 3)}),
        lambda candidate: candidate.write_tensors("in", START),
        lambda candidate: candidate.read_tensors("out"),
        lambda candidate: candidate.read_tensors("nowhere"),
    ],
)
def test_tensors_that_no_region_takes_are_the_assignments_fault(adapted: Bench, episode: Episode) -> None:
    with pytest.raises(AssignmentFault):
        adapted.test(episode, regions=(*NAMED, *REGIONS))


def test_a_class_lives_for_one_episode(plain: Bench) -> None:
    def episode(candidate: Candidate) -> Outcome:
        candidate.ask("Counter", [10])
        return passed(
            candidate.ask("Counter.step", {"by": 2}) == 12,
            candidate.ask("Counter.step", [3]) == 15,
            candidate.ask("Counter.broken", [])
            == Raised("AttributeError", "'Counter' object has no attribute 'nothing'"),
        )

    assert plain.test(episode).verdict is Verdict.ACCEPTED
    gone = plain.test(lambda candidate: passed(candidate.ask("Counter.step", [1]) == 1))
    assert gone.message is not None
    assert gone.message.code == "missing_method"

    def unknown(candidate: Candidate) -> Outcome:
        candidate.ask("Counter", [10])
        return passed(candidate.ask("Counter.other", []) == 1)

    result = plain.test(unknown)
    assert result.message is not None
    assert (result.message.code, "other" in result.message.en) == ("missing_method", True)


def test_an_episode_refuses_from_however_deep_and_tells_what_passed(plain: Bench) -> None:
    def refusing(candidate: Candidate) -> Outcome:
        candidate.ask("add", [1, 2])
        raise Refused("Not this.", "不是这个。")

    refused = plain.test(refusing)
    assert refused.verdict is Verdict.WRONG_ANSWER
    assert refused.message is not None
    assert (refused.message.en, refused.message.zh) == ("Not this.", "不是这个。")
    told = plain.test(lambda _candidate: Outcome(True, "1,000 a second", "每秒 1,000 次"))
    assert told.verdict is Verdict.ACCEPTED
    assert told.message is not None
    assert (told.message.code, told.message.en) == ("episode_passed", "1,000 a second")


def test_a_case_has_a_budget_of_its_own_and_the_judge_the_clock(plain: Bench) -> None:
    def episode(candidate: Candidate) -> Outcome:
        before = candidate.waited_ns
        candidate.ask("sleep", [0.05])
        return passed(before == 0, 50_000_000 <= candidate.waited_ns < 60_000_000_000)

    assert plain.test(episode, budget=lambda params: Budget(params["n"])).verdict is Verdict.ACCEPTED

    def four(candidate: Candidate) -> Outcome:
        return passed(*(candidate.ask("add", [n, 1]) == n + 1 for n in range(4)))

    result = plain.test(four, budget=lambda params: Budget(params["n"]))
    assert result.message is not None
    assert (result.verdict, result.message.code) == (Verdict.TIME_LIMIT, "messages")
    for wrong in (None, Budget(0), Budget(1, float("nan"))):
        with pytest.raises(AssignmentFault):
            plain.test(four, budget=lambda _params, wrong=wrong: wrong)


def test_a_public_case_leaves_a_transcript(adapted: Bench, plain: Bench) -> None:
    def episode(candidate: Candidate) -> Outcome:
        candidate.write_tensors("start", START)
        candidate.ask("train", "")
        candidate.read_tensors("policy")
        candidate.ask("broken", None)
        return Outcome(True)

    result = adapted.test(episode, regions=NAMED)
    found = transcript.unpack(result.transcript, case=result.case, part=result.part, params=result.params)
    assert [next(iter(entry)) for entry in found.entries] == ["open", "write", "ask", "read", "ask"]
    assert found.complete
    assert found.entries[2]["answer"] is None
    assert found.entries[4]["failed"] == "wrong_answer"
    assert transcript.load(found.dump()) == found

    def long(candidate: Candidate) -> Outcome:
        for number in range(60):
            candidate.ask("echo", [[(number * k * k) % 65_521 for k in range(5_000)]])
        return Outcome(True)

    much = plain.test(long)
    assert 30_000 < len(much.transcript) <= transcript.PACKED_CHARS
    beginning = transcript.unpack(much.transcript, case="", part="", params={})
    assert not beginning.complete
    assert 1 < len(beginning.entries) < 61
    hidden = dialogue.test(
        plain.take(),
        task(lambda _c: Outcome(True)),
        replace(case("test"), visibility="hidden"),
        7,
        watch=watch,
    )
    assert hidden.result.transcript == ""
    for junk in ("", "1", "1????", "1AAAA"):
        with pytest.raises(transcript.TranscriptError):
            transcript.unpack(junk, case="", part="", params={})
    for junk in ("", "{}", "[]", '{"solmark_transcript": 2}', "x"):
        with pytest.raises(transcript.TranscriptError):
            transcript.load(junk)
