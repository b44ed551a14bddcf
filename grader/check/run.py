"""A whole check of one assignment, step by step, as findings."""

import ast
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader import manifest as manifests
from grader import session, taskfile
from grader.assignment import Assignment, load
from grader.check import answers, bound, gradings, milestones, mutants, pages, solutions
from grader.check.finding import Finding, State, fails, holds, warning
from grader.check.gradings import Grader
from grader.check.solutions import Solution
from grader.contract import Language, Report
from grader.faults import AssignmentError
from grader.hardware.profile import Hardware
from grader.languages import SUFFIX, FilesError, detect
from grader.sandbox.base import Backend
from grader.task import carries_price


@dataclass(frozen=True)
class Options:
    """What a check does, and with what."""

    backend: Backend
    hardware: Hardware | None = None
    target: str = "cpu"
    repeats: int = 0
    """Whole sessions of the best solution, to see their spread; needs a calibrated machine."""
    grade: bool = True
    """Without it everything is looked at that needs no sandbox."""
    only: Callable[[Solution], bool] = lambda _solution: True
    """Which solutions are graded."""


def check(root: Path, options: Options) -> Iterator[Finding]:
    """All findings of an assignment's folder, as they come. Never raises for what the assignment does."""
    try:
        assignment = load(root)
        manifest = manifests.make(assignment)
        assignment.target(options.target)
    except AssignmentError as error:
        yield from (fails("folder", str(fault)) for fault in error.faults)
        return
    yield holds("folder", f"{len(manifest.cases)} public and {manifest.hidden_cases} hidden cases")
    yield from _folder(assignment)
    yield from _authored(root, "milestones", lambda: milestones.check(assignment))
    yield from pages.check(assignment)
    yield from _authored(root, "bound", lambda: bound.check(assignment, manifest, options.target))
    yield from _authored(root, "tolerances", lambda: mutants.check(assignment, options.target))
    yield from _authored(root, "answers", lambda: answers.check(assignment, options.target))
    yield from _gradings(assignment, options)


def _authored(root: Path, subject: str, look: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """What one look at the author's code finds, or the line at which it raised."""
    try:
        yield from look()
    except (Exception, SystemExit) as error:  # noqa: BLE001 (an author's code may raise anything)
        yield fails(subject, str(taskfile.raised(error, root.resolve())))


def _folder(assignment: Assignment) -> Iterator[Finding]:
    if not assignment.has_hidden:
        yield fails("folder", "there are no hidden cases: hidden/cases.toml is missing")
    source = assignment.adapter()
    if source is not None:
        yield _adapter(source)


def _adapter(source: bytes) -> Finding:
    """Read, not run: it belongs into the sandbox."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        return fails("adapter.py", f"is no Python: {error}")
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if "answer" not in functions:
        return fails("adapter.py", "defines no answer(module, method, message, regions)")
    arguments = functions["answer"].args
    if len(arguments.posonlyargs) + len(arguments.args) != 4:
        return fails("adapter.py", "answer takes four arguments: module, method, message, regions")
    return holds("adapter.py", "defines answer(module, method, message, regions)")


def _gradings(assignment: Assignment, options: Options) -> Iterator[Finding]:
    grader = Grader(assignment, options.backend, options.hardware, options.target)
    entries = starters(assignment)
    if not entries:
        yield fails("starter", f"no file of it ends in {', '.join(sorted(set(SUFFIX.values())))}")
    for name, files in entries.items() if options.grade else ():
        if offered(assignment, options.target, files):
            yield gradings.of_starter(grader, name, files)
    root = solutions.folder(assignment)
    found, faults = solutions.read(root, options.target)
    yield from faults
    yield from solutions.strays(root, [target.hardware for target in assignment.spec.targets])
    yield from solutions.inventory(found, root)
    found = [one for one in found if offered(assignment, options.target, one.files, one.language)]
    if not options.grade:
        return
    chosen = [one for one in found if options.only(one)]
    if found and not chosen:
        yield warning("solutions", "none of them was graded: no file fits what was asked for")
    seed = secrets.token_bytes(session.SEED_BYTES)
    reports = {}
    for solution in chosen:
        finding, reports[solution.label] = gradings.of_solution(grader, solution, seed)
        yield finding
    best = next((one for one in chosen if one.role == "best"), None)
    if best is not None:
        yield from _repeats(grader, best, options.repeats, reports[best.label], seed)


def offered(
    assignment: Assignment, hardware: str, files: Mapping[str, bytes], language: Language | None = None
) -> bool:
    """Whether the hardware class takes the files' language."""
    languages = assignment.target(hardware).languages
    if not languages:
        return True
    try:
        language, _ = detect(files, language)
    except FilesError:
        return True  # The grading says what is wrong with them.
    return language in languages


def _repeats(grader: Grader, best: Solution, count: int, first: Report, seed: bytes) -> Iterator[Finding]:
    """The spread of what a clock measures, and that what is priced has none. `first`: its session so far."""
    parts = grader.assignment.parts()
    timed = {case.part for case in grader.assignment.cases(grader.target, seed) if case.role == "timed"}
    if any(carries_price(parts[part]) for part in timed):
        yield from gradings.of_prices(grader, best, first, seed)
    if all(carries_price(parts[part]) for part in timed):
        return
    if count > 1:
        yield from gradings.of_repeats(grader, best, count)
    else:
        yield warning("repeatability", "not measured: --repeats 3, on a calibrated machine")


def starters(assignment: Assignment) -> Mapping[str, Mapping[str, bytes]]:
    """By name, each entry file of starter/ with the files of their own that parts have."""
    folder = assignment.root / "starter"
    own = {part.file for part in assignment.spec.parts if part.file}
    beside = {name: (folder / name).read_bytes() for name in own if (folder / name).is_file()}
    suffixes = set(SUFFIX.values())
    entries = {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.is_file() and path.suffix in suffixes and path.name not in own
    }
    return {
        name: {(name if not beside else f"solution{Path(name).suffix}"): data, **beside}
        for name, data in entries.items()
    }


def passed(findings: list[Finding]) -> bool:
    """Whether nothing fails."""
    return all(finding.state is not State.FAILS for finding in findings)
