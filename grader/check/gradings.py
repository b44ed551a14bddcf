"""Gradings of an author's own solutions, by the session that students get."""

import dataclasses
import hashlib
import secrets
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader import session
from grader.assignment import Assignment
from grader.check import priced
from grader.check.finding import Finding, State, fails, holds, warning
from grader.check.solutions import Solution
from grader.contract import JobSpec, Language, Mode, Report, SourceFile, Target, Verdict
from grader.hardware.profile import Hardware
from grader.sandbox.base import Backend

SECONDS_A_SOLUTION = 8.0
_LEASE_SECONDS = 3600.0
_SPREAD_LIMIT = 0.05


@dataclass(frozen=True)
class Grader:
    """Grades one assignment on one hardware class."""

    assignment: Assignment
    backend: Backend
    hardware: Hardware | None
    target: str = "cpu"

    def grade(
        self,
        files: Mapping[str, bytes],
        mode: Mode,
        *,
        language: Language | None = None,
        once: bool = True,
        seed: bytes | None = None,
    ) -> Report:
        """One session. With `once` timed calls are audited in one round and not timed."""
        job = JobSpec(
            submission="check",
            attempt=1,
            token=secrets.token_hex(16),
            mode=mode,
            assignment=self.assignment.id,
            bundle=self.assignment.digest,
            files=tuple(
                SourceFile(name=name, sha256=hashlib.sha256(data).hexdigest(), size=len(data))
                for name, data in files.items()
            ),
            language=language,
            target=Target(hardware=self.target),
            deadline=time.time() + _LEASE_SECONDS,
        )
        return session.grade(
            job,
            self.assignment,
            files,
            backend=self.backend,
            hardware=self.hardware,
            emit=lambda _event: None,
            seed=seed,
            once=once,
        )


def of_solution(grader: Grader, solution: Solution, seed: bytes | None = None) -> tuple[Finding, Report]:
    """Whether a solution gets the verdict that it names; what is accepted takes the timed cases too."""
    mode = Mode.GRADE if solution.verdict is Verdict.ACCEPTED else solution.mode
    report = grader.grade(solution.files, mode, language=solution.language, seed=seed)
    return _judged(solution, report), report


def _judged(solution: Solution, report: Report) -> Finding:
    seconds = report.seconds
    if report.verdict is not solution.verdict:
        wanted = f"{report.verdict.value}, not {solution.verdict.value}: {report.message.en}"
        cause = (report.staff.traceback.strip().splitlines() if report.staff else [])[-1:]
        return fails(solution.label, " ".join([wanted, *cause])[:1000], seconds)
    text = solution.verdict.value
    if solution.bug and solution.role == "wrong":
        text += f": {solution.bug}"
    if seconds > SECONDS_A_SOLUTION:
        slow = f"{text}; {seconds:.1f} s, above the aim of {SECONDS_A_SOLUTION:g} s"
        return Finding(solution.label, State.WARNING, slow, seconds)
    return holds(solution.label, text, seconds)


def of_starter(grader: Grader, name: str, files: Mapping[str, bytes]) -> Finding:
    """Whether a starter file runs and passes nothing."""
    report = grader.grade(files, Mode.TEST)
    subject = f"starter/{name}"
    ran = {test.verdict for test in report.tests if test.verdict is not None}
    if report.verdict is Verdict.BUILD_ERROR or not ran:
        return fails(subject, f"does not run: {report.message.en}", report.seconds)
    if Verdict.ACCEPTED in ran:
        passed = [test.case for test in report.tests if test.verdict is Verdict.ACCEPTED]
        return fails(subject, f"passes {', '.join(passed)}; a starter passes nothing", report.seconds)
    if ran != {Verdict.WRONG_ANSWER}:
        others = ", ".join(sorted(verdict.value for verdict in ran))
        return fails(subject, f"gets {others}; each test should be a wrong answer", report.seconds)
    return holds(subject, "runs and passes nothing", report.seconds)


def of_prices(grader: Grader, solution: Solution, first: Report, seed: bytes) -> list[Finding]:
    """A priced solution again: the same numbers give the same price, hidden cases come near their bound.

    `first` is its session with this seed. One more, in which hidden cases show their prices, tells both.
    """
    subject = f"{solution.label}, same seed"
    exposed = priced.exposed(grader.assignment, grader.target, seed)
    again = dataclasses.replace(grader, assignment=exposed or grader.assignment)
    second = again.grade(solution.files, Mode.GRADE, language=solution.language, seed=seed)
    if first.verdict is not Verdict.ACCEPTED or second.verdict is not Verdict.ACCEPTED:
        worse = second if first.verdict is Verdict.ACCEPTED else first
        return [fails(subject, f"{worse.verdict.value}: {worse.message.en}", second.seconds)]
    prices = [{timed.case: timed.measure for timed in report.timed} for report in (first, second)]
    differ = sorted(case for case, measure in prices[0].items() if prices[1].get(case) != measure)
    if differ:
        findings = [fails(subject, f"other prices in {', '.join(differ)}", second.seconds)]
    else:
        findings = [holds(subject, f"the same prices twice in {len(prices[0])} cases", second.seconds)]
    if solution.reaches is None:
        return findings
    findings.append(priced.reaches(f"{solution.label}, bound", first.timed, solution.reaches))
    hidden = [timed for timed in second.timed if timed.case not in prices[0]]
    if hidden:
        findings.append(priced.reaches(f"{solution.label}, bound of hidden cases", hidden, solution.reaches))
    return findings


def of_repeats(grader: Grader, solution: Solution, count: int) -> list[Finding]:
    """The spread of a solution's timed cases over whole sessions, and that none beats its bound."""
    reports = [
        grader.grade(solution.files, Mode.GRADE, language=solution.language, once=False) for _ in range(count)
    ]
    subject = f"{solution.label}, {count} sessions"
    seconds = statistics.fmean(report.seconds for report in reports)
    bad = [report for report in reports if report.verdict not in (Verdict.ACCEPTED, Verdict.UNSTABLE_TIMING)]
    if bad:
        return [fails(subject, f"{bad[0].verdict.value}: {bad[0].message.en}", seconds)]
    return [_spread(subject, case, reports, seconds) for case in [timed.case for timed in reports[0].timed]]


def _spread(subject: str, case: str, reports: Sequence[Report], seconds: float) -> Finding:
    measures = [
        timed.measure for report in reports for timed in report.timed if timed.case == case and timed.measure
    ]
    if len(measures) < 2:
        return warning(f"{subject}: {case}", "was not measured often enough to tell")
    # Over its own bound: a priced case draws other numbers in each session.
    values = [measure.value / (measure.bound or 1.0) for measure in measures]
    mean = statistics.fmean(values)
    cv = statistics.stdev(values) / mean if mean else 0.0
    reached = mean if measures[0].better == "higher" else 1 / mean if mean else 0.0
    share = f", {reached:.1%} of the bound" if measures[0].bound else ""
    text = f"cv {cv:.2%} between sessions{share}"
    if cv > _SPREAD_LIMIT:
        return Finding(f"{subject}: {case}", State.WARNING, f"{text}: is the machine idle?", seconds)
    return holds(f"{subject}: {case}", text, seconds)
