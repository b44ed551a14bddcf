"""`solmark check`: does an assignment hold what it promises?"""

import time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from grader.assignment import AssignmentError, available, find
from grader.check.finding import Finding, State
from grader.cli import exit_codes
from grader.cli.language import pick

REPEATS = 3
"""Sessions on a calibrated machine, unless another number is asked for."""
_MARK = {State.HOLDS: "[green]✓[/]", State.WARNING: "[yellow]![/]", State.FAILS: "[red]✗[/]"}


def command(
    assignment: Annotated[
        str | None, typer.Argument(help="Name such as kernels/add-rmsnorm, or a folder.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Check every assignment, and the course's map.")
    ] = False,
    hardware: Annotated[str, typer.Option(help="Hardware class to grade on.")] = "cpu",
    repeats: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Sessions of the best solution, to see their spread; by default 3 on a calibrated machine.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Grade only solutions whose file fits, such as 'wrong/cheat_*'; may be repeated."),
    ] = None,
    sandbox: Annotated[
        str | None, typer.Option(help="bubblewrap, docker or plain; by default the best here.")
    ] = None,
) -> None:
    """Check an author's assignment; exit 0 if everything holds, 1 if something does not, 2 usage."""
    errors = Console(stderr=True)
    if every == (assignment is not None):
        raise _usage(errors, pick("Name one assignment, or give --all.", "请指定一个作业，或使用 --all。"))
    try:
        roots = sorted(available().values()) if every else [find(assignment or "")]
    except AssignmentError as error:
        raise _usage(errors, str(error)) from error
    if every:
        roots = [root for root in roots if _is_meant(root, hardware)]
    good = True
    for root in roots:
        good = _check(root, hardware, repeats, only or ["*"], sandbox, errors) and good
    if every:
        good = _map(sorted(available().values())) and good
    raise typer.Exit(exit_codes.ACCEPTED if good else exit_codes.NOT_ACCEPTED)


def _check(
    root: Path, hardware: str, repeats: int | None, only: list[str], sandbox: str | None, errors: Console
) -> bool:
    from grader.check import run
    from grader.hardware.profile import HardwareError
    from grader.hardware.profile import load as load_hardware
    from grader.sandbox import registry
    from grader.sandbox.base import SandboxError

    try:
        backend = registry.choose(sandbox)
        profile = load_hardware(hardware)
    except SandboxError as error:
        errors.print(str(error), style="red", markup=False, highlight=False)
        raise typer.Exit(exit_codes.INFRASTRUCTURE) from error
    except (HardwareError, KeyError) as error:
        raise _usage(errors, str(error)) from error
    if repeats and profile.calibrated is None:
        message = pick("--repeats needs a calibrated machine", "--repeats 需要已校准的机器")
        raise _usage(errors, f"{message}: solmark calibrate")
    if repeats is None:
        repeats = 0 if profile.calibrated is None else REPEATS
    options = run.Options(
        backend,
        profile,
        hardware,
        repeats,
        only=lambda solution: any(fnmatchcase(solution.label, pattern) for pattern in only),
    )
    findings: list[Finding] = []
    begin = time.monotonic()
    with errors.status(str(root)) as status:
        for finding in run.check(root, options):
            findings.append(finding)
            status.update(f"{root.name}: {finding.subject}")
    _show(f"{root.parent.name}/{root.name}", findings, time.monotonic() - begin)
    return run.passed(findings)


def _is_meant(root: Path, hardware: str) -> bool:
    """Whether an assignment is for a hardware class; one that cannot be read is checked, to say so."""
    from grader.assignment import load

    try:
        return load(root).spec.target(hardware) is not None
    except AssignmentError:
        return True


def _map(roots: list[Path]) -> bool:
    """Whether the course's map has every assignment of its folder where it says."""
    from grader import course
    from grader.assignment import load

    findings: list[Finding] = []
    for folder in sorted({root.parents[1] for root in roots}):
        if not (folder / course.FILE).is_file():
            continue
        try:
            loaded = course.load(folder)
            topics = {}
            for root in roots:
                if root.parents[1] == folder:
                    spec = load(root).spec
                    topics[spec.id] = spec.topics
        except AssignmentError as error:
            findings += [Finding("map", State.FAILS, str(fault)) for fault in error.faults]
            continue
        strangers = course.strangers(loaded, topics)
        findings += [Finding("map", State.FAILS, str(fault)) for fault in strangers]
        built = len(set(loaded.assignments()) & topics.keys())
        text = f"{built} of {len(loaded.assignments())} assignments are built"
        findings.append(Finding("map", State.HOLDS, text))
    _show(pick("course", "课程"), findings, 0.0)
    return all(finding.state is not State.FAILS for finding in findings)


def _show(title: str, findings: list[Finding], seconds: float) -> None:
    console = Console()
    table = Table(title=title, title_justify="left")
    for heading in ("", pick("what", "对象"), pick("found", "结果"), pick("seconds", "秒")):
        table.add_column(heading, overflow="fold")
    for finding in findings:
        spent = "" if finding.seconds is None else f"{finding.seconds:.1f}"
        table.add_row(_MARK[finding.state], finding.subject, _plain(finding.text), spent)
    console.print(table)
    graded = [finding.seconds for finding in findings if finding.seconds is not None]
    failed = sum(finding.state is State.FAILS for finding in findings)
    warned = sum(finding.state is State.WARNING for finding in findings)
    console.print(
        pick(
            f"{failed} fail, {warned} warnings, {len(findings)} findings in {seconds:.0f} s; "
            f"{len(graded)} gradings took {sum(graded):.0f} s, the longest {max(graded, default=0):.1f} s",
            f"{failed} 项不通过，{warned} 项警告，共 {len(findings)} 项，用时 {seconds:.0f} 秒；"
            f"{len(graded)} 次评测共 {sum(graded):.0f} 秒，最长 {max(graded, default=0):.1f} 秒",
        ),
        highlight=False,
    )


def _plain(text: str) -> str:
    return text.replace("[", "\\[")


def _usage(errors: Console, message: str) -> typer.Exit:
    errors.print(message, style="red", markup=False, highlight=False)
    return typer.Exit(exit_codes.USAGE)
