"""From a job to a plan: language, entry, limits and cases of one session, before anything runs."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from grader.assignment import Assignment
from grader.contract import JobLimits, JobSpec, Language, Text, Verdict
from grader.faults import AssignmentError
from grader.hardware import profile
from grader.judge import authored
from grader.judge.authored import Watch
from grader.judge.failure import AssignmentFault, CandidateFailure
from grader.judge.kinds import Gradable, gradable
from grader.languages import FilesError, check, detect
from grader.messages import text
from grader.sandbox.base import Limits
from grader.spec import Spec
from grader.task import Case, CollectiveTask, FunctionTask, Part, carries_price

CALL_SECONDS = 10.0
"""For the first call of a case: compilation and autotuning included."""
BUILD_SECONDS = 60.0
TIMED_CASE_SECONDS = 60.0
"""Most that the rounds of one timed case can keep a candidate running; each round has a limit of its own."""


@dataclass(frozen=True)
class Unit:
    """What one sandbox loads: a file of the submission, and the language that it is in."""

    file: str
    language: Language
    collective: bool = False
    """On several ranks, each in a sandbox of its own."""
    together: bool = False
    """On several ranks in one sandbox, in real time."""


@dataclass(frozen=True)
class Plan:
    """All that a session will do."""

    language: Language
    entry_name: str
    """Name of the entry file."""
    entries: Mapping[str, str]
    """Part to the name of its function."""
    units: Mapping[str, Unit]
    """Part to the file that it is in."""
    tasks: Mapping[str, Gradable]
    adapter: bytes | None
    """The assignment's `adapter.py`."""
    left_out: frozenset[str]
    """Parts whose file was not handed in."""
    limits: Limits
    call_seconds: float
    build_seconds: float
    public: tuple[Case, ...]
    timed: tuple[Case, ...]
    hidden: tuple[Case, ...]
    skipped: Mapping[str, Text]
    """Cases that cannot run here, and why."""

    @property
    def main(self) -> Unit:
        """The entry file."""
        return Unit(self.entry_name, self.language)

    def function(self, part: str) -> FunctionTask:
        """The part, which must be a function."""
        task = self.tasks[part]
        assert isinstance(task, FunctionTask)
        return task

    def calls(self) -> tuple[Case, ...]:
        """The timed cases of functions that can run here: they need the clock."""
        return tuple(case for case in self._timed_here() if isinstance(self.tasks[case.part], FunctionTask))

    def together(self) -> tuple[Case, ...]:
        """The timed cases of collectives in real time that can run here: they need the clock, and ranks."""
        return tuple(case for case in self._timed_here() if self.units[case.part].together)

    def priced(self) -> tuple[Case, ...]:
        """The timed cases that can run here and carry a price of their own."""
        return tuple(case for case in self._timed_here() if carries_price(self.tasks[case.part]))

    def groups(self, cases: Iterable[Case]) -> list[tuple[Unit, list[Case]]]:
        """The cases by the file that they need, the entry file first."""
        groups: dict[Unit, list[Case]] = {self.main: []}
        for case in cases:
            groups.setdefault(self.units[case.part], []).append(case)
        return [(unit, group) for unit, group in groups.items() if group]

    def _timed_here(self) -> tuple[Case, ...]:
        return tuple(case for case in self.timed if case.id not in self.skipped)

    def timed_limits(self) -> Limits:
        """Limits of the sandbox in which all timed cases run."""
        more = TIMED_CASE_SECONDS * len(self.timed)
        return replace(
            self.limits,
            wall_seconds=self.limits.wall_seconds + more,
            cpu_seconds=self.limits.cpu_seconds + more * (os.cpu_count() or 1),
        )

    def hidden_here(self) -> tuple[Case, ...]:
        """The hidden cases that can run here."""
        return tuple(case for case in self.hidden if case.id not in self.skipped)


def prepare(
    job: JobSpec, assignment: Assignment, files: Mapping[str, bytes], seed: bytes, watch: Watch
) -> Plan:
    """Plan a session.

    Raises CandidateFailure where the submission cannot be graded, AssignmentFault where the assignment
    cannot.
    """
    spec = assignment.spec
    try:
        language, entry_name = _detect(files, job.language, spec)
    except FilesError as error:
        raise CandidateFailure(Verdict.BUILD_ERROR, error.text) from None
    target = spec.target(job.target.hardware)
    if target is None:
        known = ", ".join(other.hardware for other in spec.targets)
        sentence = text("no_target", hardware=job.target.hardware, known=known)
        raise AssignmentFault("targets", sentence.en, sentence)
    taken = target.languages or tuple(dict.fromkeys(one for part in spec.parts for one in part.languages))
    if language not in taken:
        sentence = text("language_not_taken", language=language.value, known=", ".join(taken))
        raise CandidateFailure(Verdict.BUILD_ERROR, sentence)
    parts = _parts(assignment, watch)
    cases = _cases(assignment, job.target.hardware, seed)
    used = {case.part for case in cases}
    _check_ranks(spec, parts)
    limits = merged(target.limits, job.limits)
    left_out = frozenset(part.name for part in spec.parts if part.file is not None and part.file not in files)
    return Plan(
        language=language,
        entry_name=entry_name,
        entries={part.name: part.entry for part in spec.parts},
        units={
            part.name: Unit(
                part.file or entry_name,
                Language.PYTHON if part.file else language,
                isinstance(parts[part.name], CollectiveTask) and carries_price(parts[part.name]),
                isinstance(parts[part.name], CollectiveTask) and not carries_price(parts[part.name]),
            )
            for part in spec.parts
        },
        tasks={
            name: gradable(name, part, on_device=on_device(job.target.hardware))
            for name, part in parts.items()
            if name in used
        },
        adapter=assignment.adapter(),
        left_out=left_out,
        limits=sandbox_limits(limits),
        call_seconds=limits.warm_up_seconds or CALL_SECONDS,
        build_seconds=limits.build_seconds or BUILD_SECONDS,
        public=tuple(case for case in cases if case.visibility == "public" and case.role == "test"),
        timed=tuple(case for case in cases if case.role == "timed"),
        hidden=tuple(case for case in cases if case.visibility == "hidden" and case.role == "test"),
        skipped=_skipped(assignment, cases, job.target.hardware, language, seed)
        | {
            case.id: text("not_handed_in", file=part.file)
            for part in spec.parts
            for case in cases
            if case.part == part.name and part.name in left_out
        },
    )


def _check_ranks(spec: Spec, parts: Mapping[str, Part]) -> None:
    """Ranks that run at the same time do so in Python alone. Raises AssignmentFault."""
    for part in spec.parts:
        task = parts[part.name]
        in_real_time = isinstance(task, CollectiveTask) and not task.priced
        if in_real_time and part.languages != (Language.PYTHON,):
            wrong = (
                f"assignment.toml: parts[{part.name!r}].languages: collectives in real time take python only"
            )
            raise AssignmentFault("languages", wrong)


def on_device(hardware: str) -> bool:
    """Whether this hardware class is one of devices rather than of CPUs."""
    try:
        return profile.committed(hardware).kind == "gpu"
    except profile.HardwareError:
        return False


def case_seed(seed: bytes, case: Case) -> int:
    """The 128-bit seed of a correctness case's values within a session."""
    return int.from_bytes(hashlib.blake2b(case.id.encode(), key=seed, digest_size=16).digest())


def merged(defaults: JobLimits, own: JobLimits) -> JobLimits:
    """The job's own limits, and the target's where it sets none."""
    values = {name: value for name, value in own if value is not None}
    return defaults.model_copy(update=values)


def sandbox_limits(limits: JobLimits) -> Limits:
    """Limits of a sandbox, with its defaults where neither job nor target sets any."""
    names = ("wall_seconds", "cpu_seconds", "memory_bytes", "processes", "output_bytes")
    given = {name: getattr(limits, name) for name in names if getattr(limits, name) is not None}
    return replace(Limits(), **given)


def _parts(assignment: Assignment, watch: Watch) -> Mapping[str, Part]:
    with watch("task.py", authored.SECONDS):
        try:
            return assignment.parts()
        except AssignmentError as error:
            raise AssignmentFault("task.py", str(error)) from error


def _cases(assignment: Assignment, hardware: str, seed: bytes) -> list[Case]:
    try:
        return assignment.cases(hardware, seed)
    except AssignmentError as error:
        raise AssignmentFault("cases", str(error)) from error


def _detect(files: Mapping[str, bytes], override: Language | None, spec: Spec) -> tuple[Language, str]:
    """Language and entry file, parts with a file of their own left aside. Raises FilesError."""
    check(files, entry=spec.parts[0].entry)
    others = {part.file for part in spec.parts}
    rest = {name: data for name, data in files.items() if name not in others}
    if not rest:
        raise FilesError(text("no_entry"))
    return detect(rest, override, entry=spec.parts[0].entry)


def _skipped(
    assignment: Assignment, cases: list[Case], hardware: str, language: Language, seed: bytes
) -> dict[str, Text]:
    """Cases that the author does not mean for this language, or that this machine cannot run in it."""
    meant = {case.id for case in assignment.cases(hardware, seed, language)}
    skipped = {}
    interpreted = language is Language.TRITON and not on_device(hardware)
    for case in cases:
        part = assignment.spec.part(case.part)
        called = part is not None and part.kind != "dialogue"
        if called and interpreted and "bfloat16" in map(str, case.params.values()):
            skipped[case.id] = text("triton_bf16")
        elif case.id not in meant:
            skipped[case.id] = text("not_for_language", language=language.value)
    return skipped
