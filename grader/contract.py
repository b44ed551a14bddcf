"""Everything that crosses a process boundary between server, worker and judge: versioned JSON.

`JobSpec` goes from the server to a worker, `Event` and `Report` come back. A reader of version n accepts
version n - 1 and refuses any other with a message that says which side to upgrade. The JSON schemas are
committed beside this file (`contract.schema.json`) and pinned by a test; documents of the version before
are committed beside the tests, which read them (`CONTRIBUTING.md` says how the version is raised).
"""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

VERSION = 2
"""Version of the wire format. A new key is an incompatible change too: readers refuse unknown ones."""

REPORT_BYTES = 1 << 20
"""A document of more bytes than this is refused."""
EVENT_TEXT_CHARS = 4096
MAX_FILES = 64
MAX_FILE_BYTES = 1 << 20
"""Most bytes of all files of one submission together."""
MAX_LIMIT_SECONDS = 86400.0
"""Longest wall time that a limit may grant: a day."""
MAX_CPU_SECONDS = 1024 * MAX_LIMIT_SECONDS
"""Most CPU time that a limit may grant: that day on a thousand cores."""

GRADE_TASK = "solmark.grade"
"""Celery task of a worker; its one argument is a JobSpec as JSON text."""
STORE_TASK = "solmark.store_report"
"""Celery task of the server; its one argument is a Report as JSON text."""
SERVER_QUEUE = "server"
QUEUE_SETTINGS: Mapping[str, Any] = {
    "accept_content": ["json"],
    "task_serializer": "json",
    "task_ignore_result": True,
    "task_acks_late": True,
    # The lease in the database finds a lost worker; requeueing by the queue would know no limit.
    "task_reject_on_worker_lost": False,
    "worker_prefetch_multiplier": 1,
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    "broker_transport_options": {
        # Redis hands an unacknowledged message out again after this long: above the longest job.
        "visibility_timeout": int(MAX_LIMIT_SECONDS) + 3600,
        "socket_connect_timeout": 5,
        "socket_keepalive": True,
    },
}
"""Celery settings on which every app on the broker must agree."""
EVENTS_KEPT = 2000
"""Events of one submission that the broker keeps, about; older ones are dropped."""


def grade_queue(hardware: str) -> str:
    """Queue of the jobs for one hardware class."""
    return f"grade.{hardware}"


def trial_queue(token_digest: str, hardware: str) -> str:
    """Queue of one node alone (SHA-256 of its token, in hex): what a node in quarantine is tried with."""
    return f"trial.{token_digest[:16]}.{hardware}"


def events_key(submission: str) -> str:
    """Broker stream of a submission's events: the field `event` of an entry is an Event as JSON text; an
    entry without it says that the state in the database has changed."""
    return f"solmark:events:{submission}"


def cancel_key(token: str) -> str:
    """Broker key that exists once the attempt with that token has been cancelled."""
    return f"solmark:cancel:{token}"


def stored_key(report_sha256: str) -> str:
    """Broker key that exists once the server has dealt with the Report whose JSON text has that digest."""
    return f"solmark:stored:{report_sha256}"


HARDWARE_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,31}$"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
LimitSeconds = Annotated[float, Field(ge=0, le=MAX_LIMIT_SECONDS, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class ContractError(ValueError):
    """A document on the wire cannot be read; the text says why and what to change."""


class VersionError(ContractError):
    """The document's version is neither this reader's nor the one before."""


class Wire(BaseModel):
    """Base of all wire models: immutable, no unknown keys, no coercion of strings into numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_enum_values=False)


class FailureClass(StrEnum):
    """Who is responsible for a verdict. Only `student` costs an attempt."""

    NONE = "none"
    STUDENT = "student"
    ASSIGNMENT = "assignment"
    INFRASTRUCTURE = "infrastructure"
    INTEGRITY = "integrity"


class Verdict(StrEnum):
    """What a grading found; `failure_class` says whose failure it is."""

    ACCEPTED = "accepted"
    WRONG_ANSWER = "wrong_answer"
    BUILD_ERROR = "build_error"
    RUNTIME_ERROR = "runtime_error"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    SANDBOX_VIOLATION = "sandbox_violation"
    FASTER_THAN_LIGHT = "faster_than_light"
    WORK_OUTSIDE_THE_CLOCK = "work_outside_the_clock"
    OVERLAP = "overlap"
    UNSTABLE_TIMING = "unstable_timing"
    ASSIGNMENT_ERROR = "assignment_error"
    GRADER_ERROR = "grader_error"

    @property
    def failure_class(self) -> FailureClass:
        """Who is responsible for this verdict."""
        return _FAILURE_CLASS[self]


_FAILURE_CLASS: Mapping[Verdict, FailureClass] = {
    Verdict.ACCEPTED: FailureClass.NONE,
    Verdict.WRONG_ANSWER: FailureClass.STUDENT,
    Verdict.BUILD_ERROR: FailureClass.STUDENT,
    Verdict.RUNTIME_ERROR: FailureClass.STUDENT,
    Verdict.TIME_LIMIT: FailureClass.STUDENT,
    Verdict.MEMORY_LIMIT: FailureClass.STUDENT,
    Verdict.OUTPUT_LIMIT: FailureClass.STUDENT,
    Verdict.SANDBOX_VIOLATION: FailureClass.STUDENT,
    Verdict.FASTER_THAN_LIGHT: FailureClass.INTEGRITY,
    Verdict.WORK_OUTSIDE_THE_CLOCK: FailureClass.INTEGRITY,
    Verdict.OVERLAP: FailureClass.INTEGRITY,
    Verdict.UNSTABLE_TIMING: FailureClass.INFRASTRUCTURE,
    Verdict.ASSIGNMENT_ERROR: FailureClass.ASSIGNMENT,
    Verdict.GRADER_ERROR: FailureClass.INFRASTRUCTURE,
}


class Mode(StrEnum):
    """What a grading does: `test` is correctness only, `grade` adds timing and score.

    `profile` and `memcheck` show the author what a tool sees in the calls, and grade nothing.
    """

    TEST = "test"
    GRADE = "grade"
    PROFILE = "profile"
    MEMCHECK = "memcheck"


OFFERED_MODES = (Mode.TEST, Mode.GRADE)
"""Modes in which a course's server takes submissions; `solmark grade` has the others as well."""


class Reason(StrEnum):
    """Why a job exists."""

    SUBMIT = "submit"
    REJUDGE = "rejudge"


class Language(StrEnum):
    """Language of a submission; the suffix of its entry file decides (see `grader.languages`)."""

    PYTHON = "python"
    TRITON = "triton"
    TILELANG = "tilelang"
    CUTE = "cute"
    CPP = "cpp"
    CUDA = "cuda"


class Phase(StrEnum):
    """Phases of a grading session, in order."""

    QUEUE = "queue"
    FETCH = "fetch"
    PREPARE = "prepare"
    BUILD = "build"
    PUBLIC = "public"
    TIMED = "timed"
    HIDDEN = "hidden"
    SCORE = "score"


class Text(Wire):
    """A sentence for a person, in both languages of the site. `code` is stable and never translated."""

    code: str = Field(max_length=64)
    en: str = Field(max_length=8192)
    zh: str = Field(max_length=8192)


class SourceFile(Wire):
    """One file of a submission: content travels as a blob named by its digest."""

    name: str = Field(min_length=1, max_length=128)
    sha256: Sha256
    size: int = Field(ge=0, le=MAX_FILE_BYTES)


class Target(Wire):
    """Where a job runs: a hardware class (`cpu`, `h200`, ...) and a number of its devices."""

    hardware: str = Field(pattern=HARDWARE_PATTERN)
    devices: int = Field(default=1, ge=1, le=64)


class JobLimits(Wire):
    """Limits that a course or assignment sets for one job; what is null takes the target's default.

    Each has a maximum, so that sums of them and deadlines made from them stay numbers that dates can hold.
    """

    wall_seconds: LimitSeconds | None = None
    cpu_seconds: Annotated[float, Field(ge=0, le=MAX_CPU_SECONDS, allow_inf_nan=False)] | None = None
    memory_bytes: int | None = Field(default=None, gt=0, le=1 << 44)
    processes: int | None = Field(default=None, gt=0, le=1 << 16)
    output_bytes: int | None = Field(default=None, ge=0, le=1 << 32)
    build_seconds: LimitSeconds | None = None
    warm_up_seconds: LimitSeconds | None = None


class JobSpec(Wire):
    """One attempt at one submission, as the server hands it to a worker. Carries no file content."""

    version: Literal[2] = 2
    submission: str = Field(min_length=1, max_length=64)
    attempt: int = Field(ge=1)
    token: str = Field(min_length=16, max_length=128)
    mode: Mode
    reason: Reason = Reason.SUBMIT
    assignment: str = Field(pattern=r"^[a-z0-9-]+/[a-z0-9-]+$")
    bundle: Sha256
    files: tuple[SourceFile, ...] = Field(min_length=1, max_length=MAX_FILES)
    language: Language | None = None
    target: Target
    limits: JobLimits = JobLimits()
    deadline: Finite
    """Unix time after which the lease is over and nobody reads the Report as current."""


class Measure(Wire):
    """A measured or computed quantity with its interval and its bound, all in `unit` (SI)."""

    quantity: str = Field(max_length=64)
    unit: str = Field(max_length=32)
    better: Literal["lower", "higher"]
    value: Finite
    low: Finite
    high: Finite
    bound: Finite | None = None
    bound_by: str | None = Field(default=None, max_length=64)


class FirstWrong(Wire):
    """The first element of an output that is wrong: multi-index, and the two values as text."""

    output: str = Field(max_length=64)
    index: tuple[int, ...]
    expected: str = Field(max_length=64)
    found: str = Field(max_length=64)


class ErrorStats(Wire):
    """How far one output is from the oracle, each beside its limit (see `grader.task.Tolerance`)."""

    output: str = Field(max_length=64)
    worst_row: Finite | None
    worst_row_limit: Finite
    mean_row: Finite | None
    mean_row_limit: Finite
    worst_element: Finite | None
    worst_element_limit: Finite
    wrong_elements: int = Field(ge=0)
    elements: int = Field(ge=0)


class TestResult(Wire):
    """One correctness case as its reader may see it."""

    case: str = Field(max_length=64)
    part: str = Field(max_length=64)
    verdict: Verdict | None
    """None: not run; `message` says why (an earlier case failed, or not testable here)."""
    message: Text | None = None
    params: dict[str, Any] = Field(default_factory=dict)
    shapes: dict[str, str] = Field(default_factory=dict)
    """Tensor name to e.g. `float32[257, 1031]`."""
    first_wrong: FirstWrong | None = None
    errors: tuple[ErrorStats, ...] = ()
    stdout: str = Field(default="", max_length=16384)
    stderr: str = Field(default="", max_length=16384)
    seconds: Seconds = 0.0
    transcript: str = Field(default="", max_length=65536)
    """Of a public dialogue: what was said, packed (`grader.transcript`)."""


class HiddenResult(Wire):
    """All a student learns of the hidden cases: whether the whole group passed."""

    passed: bool | None
    """None: not run."""
    cases: int = Field(ge=0)


class ProbeResult(Wire):
    """Sealed probes (rounds of a single call) that stand beside a ring's time; a test, not a clock."""

    calls: int = Field(ge=0)
    seconds: Seconds
    standard_error: Seconds


class TimedResult(Wire):
    """One timed case. Seconds are per call, one entry a round, less `overhead_seconds`."""

    case: str = Field(max_length=64)
    part: str = Field(max_length=64)
    verdict: Verdict | None
    message: Text | None = None
    params: dict[str, Any] = Field(default_factory=dict)
    shapes: dict[str, str] = Field(default_factory=dict)
    measure: Measure | None = None
    fraction: Annotated[float, Field(ge=0, le=1)] | None = None
    fraction_low: Annotated[float, Field(ge=0, le=1)] | None = None
    fraction_high: Annotated[float, Field(ge=0, le=1)] | None = None
    fraction_reason: Text | None = None
    """Why there is no fraction (for instance Triton on a CPU)."""
    ceiling_fraction: Finite | None = None
    """Share of the measured ceiling: the node's own best rate in place of the scoring rate."""
    calls: int = Field(default=0, ge=0)
    rounds: tuple[Seconds, ...] = Field(default=(), max_length=1000)
    disturbed_rounds: int = Field(default=0, ge=0)
    """Rounds beside those that did not count: the judge's own memory was slower around them than when the
    machine is quiet."""
    overhead_seconds: Seconds = 0.0
    bias_bound_seconds: Seconds = 0.0
    """Largest error of one call's time that the constant overhead can have caused."""
    eager: bool = True
    linked: bool = False
    probe: ProbeResult | None = None
    audited_slots: int = Field(default=0, ge=0)
    errors: tuple[ErrorStats, ...] = ()
    transcript: str = Field(default="", max_length=65536)
    """Of a public dialogue: what was said, packed (`grader.transcript`)."""


class PhaseTime(Wire):
    """How long one step of the session took, so that the output says where the time went."""

    phase: Phase
    step: str = Field(default="", max_length=64)
    seconds: Seconds


class BuildResult(Wire):
    """What the build printed, in full up to a limit, and how long it took."""

    language: Language
    command: str = Field(default="", max_length=4096)
    log: str = Field(default="", max_length=65536)
    seconds: Seconds = 0.0


class Evidence(Wire):
    """One observation behind an integrity verdict or a review: what was measured, and the limit it passed."""

    kind: str = Field(max_length=64)
    case: str | None = Field(default=None, max_length=64)
    round: int | None = None
    measured: Finite | None = None
    limit: Finite | None = None
    unit: str = Field(default="", max_length=32)
    text: str = Field(default="", max_length=4096)


class Yardstick(Wire):
    """The judge's own copy and matmul, run with no candidate alive, beside the calibrated values."""

    copy_bytes_per_second: Finite | None = None
    copy_calibrated: Finite | None = None
    matmul_flops: Finite | None = None
    matmul_calibrated: Finite | None = None
    ok: bool = True


class InspectedKernel(Wire):
    """One kernel, or on a CPU one operator, that a profiler saw: over all its calls, seconds in sum."""

    name: str = Field(max_length=256)
    calls: int = Field(ge=0)
    seconds: Seconds
    registers: int | None = Field(default=None, ge=0)
    shared_bytes: int | None = Field(default=None, ge=0)
    grid: str = Field(default="", max_length=64)
    block: str = Field(default="", max_length=64)
    dram_share: Finite | None = None
    """Of the device's peak, as ncu counted."""
    tensor_share: Finite | None = None


class Inspection(Wire):
    """What a tool found in the calls of one case: for the author of a submission, of no consequence."""

    tool: str = Field(max_length=64)
    case: str = Field(max_length=64)
    message: Text
    kernels: tuple[InspectedKernel, ...] = Field(default=(), max_length=64)
    features: dict[str, int] = Field(default_factory=dict)
    """How often the machine code has instructions of these kinds."""
    errors: int | None = Field(default=None, ge=0)
    """Of a memory checker."""
    log: str = Field(default="", max_length=16384)


class Environment(Wire):
    """What ran the session: enough to say which results may be compared."""

    judge_version: str = Field(max_length=64)
    hardware: str = Field(max_length=64)
    hardware_name: str = Field(max_length=128)
    hardware_digest: Sha256 | None = None
    """Digest of the hardware profile (datasheet and calibration) that the score used."""
    node: str = Field(default="", max_length=128)
    sandbox: str = Field(max_length=32)
    sandbox_image: str = Field(default="", max_length=80)
    """Digest of the image that the sandboxes were made of; empty where there is none."""
    freezer: str = Field(max_length=32)
    """`cgroup2`, `cgroup1` or `none`."""
    unenforced_limits: tuple[str, ...] = ()
    python: str = Field(default="", max_length=32)
    torch: str = Field(default="", max_length=64)
    triton: str = Field(default="", max_length=32)
    driver: str = Field(default="", max_length=64)
    kernel: str = Field(default="", max_length=128)
    clocks: dict[str, Finite] = Field(default_factory=dict)
    temperature_celsius: Finite | None = None
    throttle_reasons: tuple[str, ...] = ()
    yardstick: Yardstick | None = None
    duty_cycle: Finite | None = None
    session_spread: Finite | None = None
    """How far apart the times of fresh sessions lie on this machine (a coefficient of variation); intervals
    include it."""


class Score(Wire):
    """The score of an accepted submission: fractions of the speed of light, geometric mean of timed cases."""

    fraction: Annotated[float, Field(ge=0, le=1)] | None = None
    low: Annotated[float, Field(ge=0, le=1)] | None = None
    high: Annotated[float, Field(ge=0, le=1)] | None = None
    fraction_reason: Text | None = None
    points: Finite | None = None
    correctness_points: Finite | None = None
    performance_points: Finite | None = None
    ranked: bool = False
    unranked_reason: Text | None = None
    review: bool = False
    """Nothing but a look of the staff at `Report.evidence` keeps it from being ranked."""


class StaffDetail(Wire):
    """For staff only: never shown to a student, never in a student's copy of the Report."""

    seed: str = Field(default="", max_length=64)
    """Hexadecimal session seed: hidden shapes and values follow from it."""
    replay: str = Field(default="", max_length=4096)
    hidden: tuple[TestResult, ...] = ()
    traceback: str = Field(default="", max_length=65536)


class Report(Wire):
    """All that a grading session found. `for_student()` removes what students may not see."""

    version: Literal[2] = 2
    submission: str = Field(max_length=64)
    attempt: int = Field(ge=1)
    token: str = Field(max_length=128)
    mode: Mode
    assignment: str = Field(max_length=128)
    bundle: Sha256
    language: Language | None = None
    target: Target
    verdict: Verdict
    message: Text
    started: Finite
    """Unix time."""
    seconds: Seconds
    phases: tuple[PhaseTime, ...] = ()
    build: BuildResult | None = None
    tests: tuple[TestResult, ...] = ()
    hidden: HiddenResult | None = None
    timed: tuple[TimedResult, ...] = ()
    score: Score | None = None
    evidence: tuple[Evidence, ...] = ()
    inspections: tuple[Inspection, ...] = Field(default=(), max_length=16)
    """Of the modes `profile` and `memcheck`."""
    environment: Environment
    staff: StaffDetail | None = None

    @property
    def failure_class(self) -> FailureClass:
        """Who is responsible for the verdict."""
        return self.verdict.failure_class

    def for_student(self) -> "Report":
        """The same Report without staff detail, evidence, token, and the time that hidden tests took.

        `seconds` is then what the phases shown took: the total less these would be the hidden tests' time.
        """
        phases = tuple(entry for entry in self.phases if entry.phase is not Phase.HIDDEN)
        seconds = sum(entry.seconds for entry in phases)
        update = {"staff": None, "evidence": (), "token": "", "phases": phases, "seconds": seconds}
        return self.model_copy(update=update)


class Event(Wire):
    """One step of progress of an attempt; `seq` counts up from 1 within the attempt."""

    version: Literal[2] = 2
    attempt: int = Field(ge=1)
    seq: int = Field(ge=1)
    time: Finite
    phase: Phase
    case: str | None = Field(default=None, max_length=64)
    done: int | None = Field(default=None, ge=0)
    total: int | None = Field(default=None, ge=0)
    text: str = Field(default="", max_length=EVENT_TEXT_CHARS)


Document = TypeVar("Document", JobSpec, Report, Event)


def read(model: type[Document], data: bytes | str) -> Document:
    """Parse one document of this version or of the one before.

    Raises `VersionError` for any other version and `ContractError` for anything else that is wrong; both
    name the key at fault. Nesting, size and non-finite numbers are limited before pydantic sees them.
    """
    size = len(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
    if size > REPORT_BYTES:
        raise ContractError(f"{model.__name__}: {size} bytes; at most {REPORT_BYTES} are read")
    try:
        value = json.loads(data, parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates)
    except (ValueError, RecursionError) as error:
        raise ContractError(f"{model.__name__}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ContractError(f"{model.__name__}: a JSON object is needed, not {type(value).__name__}")
    version = value.get("version")
    if type(version) is not int:  # True and 1.0 equal 1, and are no versions.
        raise VersionError(f"{model.__name__}: version {version!r} is no integer; upgrade the sender")
    if version == VERSION - 1:
        value = _from_before(value)
    elif version != VERSION:
        older = "the sender" if version < VERSION else "this reader"
        raise VersionError(
            f"{model.__name__}: version {version!r} was sent, {VERSION - 1} and {VERSION} are read; "
            f"upgrade {older}"
        )
    try:
        return model.model_validate_json(json.dumps(value))
    except ValidationError as error:
        raise ContractError(_explain(model.__name__, error)) from error


def _from_before(value: Mapping[str, Any]) -> dict[str, Any]:
    """A document of the version before as one of this version.

    Version 1 lacked `disturbed_rounds` and `transcript` of cases and `review` of a score. Its judge counted
    every round, kept no transcripts and sent nothing to staff for a look: what the defaults say.
    """
    return {**value, "version": VERSION}


def json_schemas() -> dict[str, Any]:
    """The JSON schemas of all documents, as committed in `contract.schema.json`."""
    return {
        "version": VERSION,
        "documents": {model.__name__: model.model_json_schema() for model in (JobSpec, Report, Event)},
    }


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("an object names a key twice")
    return value


def _explain(name: str, error: ValidationError) -> str:
    faults = [
        f"{'.'.join(str(part) for part in fault['loc']) or name}: {fault['msg']}"
        for fault in error.errors()[:5]
    ]
    return f"{name}: " + "; ".join(faults)
