"""A candidate in a real sandbox, honest and hostile: each failure its verdict, and the judge unharmed."""

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from grader.contract import Language, Verdict
from grader.judge import correctness
from grader.judge.client import BUILD_ARENA_BYTES, Client
from grader.judge.failure import CandidateFailure
from grader.judge.layout import plan
from grader.judge.supervisor import Supervisor
from grader.sandbox import registry
from grader.sandbox.base import MIB, Limits
from grader.task import Case, FunctionTask

Start = Callable[..., Client]
SHORT = Limits(wall_seconds=20.0, memory_bytes=256 * MIB, output_bytes=256 << 10)
CALL_SECONDS = 1.0


@pytest.fixture(scope="module")
def hostile() -> bytes:
    """hostile.cpp, built in a sandbox."""
    source = (Path(__file__).parent / "hostile.cpp").read_bytes()
    backend = registry.choose("bubblewrap")
    with Client.start(backend, Limits(), arena_bytes=BUILD_ARENA_BYTES, language=Language.CPP) as builder:
        built = builder.build({"solution.cpp": source}, "solution.cpp", 60.0)
    assert built.status == 0, built.log.decode()
    return built.artifact


@pytest.fixture
def start_hostile(hostile: bytes, toy: FunctionTask, case: Callable[..., Case]) -> Iterator[Start]:
    """A client with hostile.cpp loaded."""
    with ExitStack() as stack:

        def make(limits: Limits = SHORT) -> Client:
            size = correctness.arena_bytes(toy, case(), Supervisor().watch)
            client = stack.enter_context(
                Client.start(
                    registry.choose("bubblewrap"), limits, arena_bytes=4 * size, language=Language.CPP
                )
            )
            client.load({}, "honest", "solution.cpp", hostile)
            return client

        yield make


@pytest.fixture
def try_case(toy: FunctionTask, case: Callable[..., Case]) -> Callable[..., correctness.CaseRun]:
    """Run the toy case on an entry: `try_case(client, entry)`."""

    def run(
        client: Client, entry: str, call_seconds: float = CALL_SECONDS, **params: object
    ) -> correctness.CaseRun:
        return correctness.run(
            client,
            toy,
            case(**params),
            secrets.randbits(128),
            entry=entry,
            call_seconds=call_seconds,
            watch=Supervisor().watch,
        )

    return run


def _explained(run: correctness.CaseRun) -> tuple[Verdict | None, str]:
    return run.result.verdict, run.result.message.code if run.result.message else ""


def test_what_leaves_the_process_alive_is_judged_in_one_sandbox(
    start_hostile: Start, try_case: Callable[..., correctness.CaseRun]
) -> None:
    client = start_hostile()
    for entry, verdict, code in (
        ("honest", Verdict.ACCEPTED, ""),
        ("throws", Verdict.RUNTIME_ERROR, "exception"),
        ("throws_a_number", Verdict.RUNTIME_ERROR, "exception"),
        ("status", Verdict.RUNTIME_ERROR, "status"),
        ("writes_past_the_end", Verdict.WRONG_ANSWER, "outside"),
        ("writes_before_the_start", Verdict.WRONG_ANSWER, "outside"),
        ("changes_its_input", Verdict.WRONG_ANSWER, "input_modified"),
        ("writes_nothing", Verdict.WRONG_ANSWER, "never_written"),
        ("writes_nan", Verdict.WRONG_ANSWER, "not_finite"),
        ("truncates_the_arena", Verdict.ACCEPTED, ""),
        ("no_such_function", Verdict.BUILD_ERROR, "missing_symbol"),
        ("honest", Verdict.ACCEPTED, ""),
    ):
        run = try_case(client, entry)
        assert (entry, *_explained(run)) == (entry, verdict, code)
        assert run.alive
    wrong = try_case(client, "writes_nan").result
    assert wrong.first_wrong is not None
    assert wrong.first_wrong.index == (0, 7)
    assert wrong.first_wrong.found == "nan"
    assert "[0, 7]" in (wrong.message.en if wrong.message else "")
    assert wrong.shapes == {"x": "float32[31, 257]", "y": "float32[31, 257]"}
    assert _explained(try_case(client, "honest", strided=True)) == (Verdict.ACCEPTED, "")
    status = try_case(client, "status").result.message
    assert status is not None
    assert status.en == "`status` returned 42; 0 means success."
    printed = try_case(client, "prints").result
    assert (printed.stdout, printed.stderr) == ("hello\n", "trouble\n")
    assert try_case(client, "honest").result.stdout == ""


@pytest.mark.parametrize(
    ("entry", "verdict", "says"),
    [
        ("segfault", Verdict.RUNTIME_ERROR, "SIGSEGV"),
        ("aborts", Verdict.RUNTIME_ERROR, "SIGABRT"),
        ("divides", Verdict.RUNTIME_ERROR, "SIGFPE"),
        ("exits_zero", Verdict.RUNTIME_ERROR, "exit code 0"),
        ("exits_seven", Verdict.RUNTIME_ERROR, "exit code 7"),
        ("spins", Verdict.TIME_LIMIT, "processor time"),
        ("sleeps", Verdict.TIME_LIMIT, "waiting or asleep"),
        ("stops_itself", Verdict.TIME_LIMIT, "waiting or asleep"),
        ("mounts", Verdict.SANDBOX_VIOLATION, "forbids"),
        ("takes_memory", Verdict.MEMORY_LIMIT, "256 MiB"),
        ("floods_stdout", Verdict.OUTPUT_LIMIT, "262144 bytes"),
        ("floods_the_channel", Verdict.SANDBOX_VIOLATION, "channel"),
        ("answers_twice", Verdict.SANDBOX_VIOLATION, "not a known message"),
        ("answers_garbage", Verdict.SANDBOX_VIOLATION, "not JSON"),
        ("answers_nothing", Verdict.SANDBOX_VIOLATION, "0 bytes"),
        ("answers_too_much", Verdict.SANDBOX_VIOLATION, "2147483648 bytes"),
        ("answers_deeply", Verdict.SANDBOX_VIOLATION, "not JSON"),
        ("answers_half", Verdict.TIME_LIMIT, "1 s"),
        ("answers_with_nan", Verdict.SANDBOX_VIOLATION, "no JSON number"),
        ("answers_a_wrong_id", Verdict.SANDBOX_VIOLATION, "no question"),
        ("says_ready", Verdict.SANDBOX_VIOLATION, "no question"),
        ("daemon_holds_the_channel", Verdict.RUNTIME_ERROR, "exit code 3"),
    ],
)
def test_what_ends_the_process_has_its_verdict(
    start_hostile: Start,
    try_case: Callable[..., correctness.CaseRun],
    entry: str,
    verdict: Verdict,
    says: str,
) -> None:
    client = start_hostile()
    run = try_case(client, entry)
    assert run.result.verdict is verdict
    assert run.result.message is not None
    assert says in run.result.message.en
    assert not run.alive
    assert not client.alive
    # Nothing but closing is possible now, and it leaves nothing behind.
    client.close()
    assert _explained(try_case(start_hostile(), "honest")) == (Verdict.ACCEPTED, "")


def test_a_closed_channel_is_a_runtime_error(
    start_hostile: Start, try_case: Callable[..., correctness.CaseRun]
) -> None:
    run = try_case(start_hostile(), "closes_the_channel")
    assert _explained(run) == (Verdict.RUNTIME_ERROR, "closed")


def test_a_message_before_the_next_question_is_a_violation(
    start_hostile: Start, toy: FunctionTask, case: Callable[..., Case]
) -> None:
    client = start_hostile()
    slots = plan(toy.tensors(case().params), 1)
    client.bind(slots, {"mode": 0}, entry="forges_done")
    nonce = secrets.token_bytes(16)
    client.arm(1, time.monotonic() + 5)
    client.go(nonce)
    with pytest.raises(CandidateFailure) as raised:  # a forged `done`, with a nonce that was never drawn
        client.await_done(nonce, time.monotonic() + 5)
    assert raised.value.verdict is Verdict.SANDBOX_VIOLATION
    assert not client.alive


def test_a_daemon_does_not_outlive_its_sandbox(
    start_hostile: Start, try_case: Callable[..., correctness.CaseRun]
) -> None:
    client = start_hostile()
    inside = _namespace(client.process.host_pid)
    assert _explained(try_case(client, "leaves_a_daemon")) == (Verdict.ACCEPTED, "")
    assert len(_members(inside)) >= 3  # bubblewrap's init, the harness, the daemon
    client.close()
    assert _members(inside) == []


def test_rounds_echo_their_nonce(start_hostile: Start, toy: FunctionTask, case: Callable[..., Case]) -> None:
    client = start_hostile()
    slots = plan(toy.tensors(case().params), 3)
    client.arena.prepare(slots)
    for slot in slots:
        client.arena.tensors(slot)["x"].fill_(slot.index + 1)
    client.bind(slots, {"mode": 0}, entry="honest")
    for calls in (1, 3):
        nonce = secrets.token_bytes(16)
        client.arm(calls, time.monotonic() + 5)
        assert not client.unread()
        client.go(nonce)
        client.await_done(nonce, time.monotonic() + 5)
        for slot in slots[:calls]:
            assert bool((client.arena.tensors(slot)["y"] == 3 * (slot.index + 1)).all())
        assert calls == 3 or bool(client.arena.tensors(slots[1])["y"].isnan().all())


def test_the_wall_time_of_all_calls_together_is_limited(
    start_hostile: Start, try_case: Callable[..., correctness.CaseRun]
) -> None:
    client = start_hostile(Limits(wall_seconds=0.5))
    run = try_case(client, "sleeps")
    assert run.result.verdict is Verdict.TIME_LIMIT
    assert run.result.message is not None
    assert "0.5 s" in run.result.message.en


def test_processor_time_is_limited_over_all_threads(
    start_hostile: Start, try_case: Callable[..., correctness.CaseRun]
) -> None:
    run = try_case(start_hostile(Limits(cpu_seconds=0.3)), "spins", 30.0)
    assert _explained(run) == (Verdict.TIME_LIMIT, "cpu")


def test_descriptors_and_files_are_given_back(start_hostile: Start) -> None:
    client = start_hostile()
    during = _descriptors()
    client.close()
    client.close()
    assert len(during - _descriptors()) >= 6  # two pipes, two outputs, a pidfd, the arena


def _descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


def _namespace(pid: int) -> str:
    return str(Path(f"/proc/{pid}/ns/pid").readlink())


def _members(namespace: str) -> list[str]:
    members = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                if _namespace(int(entry.name)) == namespace and state != "Z":
                    members.append(entry.name)
            except OSError:
                continue
    return members
