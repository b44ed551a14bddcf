"""`solmark transcript`: what was said in the public cases of a dialogue, as files."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grader.cli import answers, exit_codes, report_view, submission_view
from grader.cli.client import session
from grader.cli.language import current, os_reason, pick
from grader.contract import ContractError, Report, TestResult, TimedResult, Verdict, read
from grader.transcript import TranscriptError, unpack


def command(
    source: Annotated[
        str, typer.Argument(help="A submission's id, or a Report of `solmark grade --json` as a file.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the files.")] = Path(
        "transcripts"
    ),
) -> None:
    """Write a file for each public case; exit 1 if there is none, and say what the grading found instead."""
    errors = Console(stderr=True)
    try:
        content = _content(source, errors)
        report = read(Report, content)
        results: list[TestResult | TimedResult] = [*report.tests, *report.timed]
        written = [_write(report, result, output) for result in results if result.transcript]
    except OSError as error:
        raise _failed(errors, f"{error.filename}: {os_reason(error)}") from error
    except (ContractError, TranscriptError, UnicodeDecodeError) as error:
        raise _failed(errors, f"{source}: {error}") from error
    for path in written:
        typer.echo(str(path))
    if not written:
        errors.print(pick("This grading left no transcript.", "这次评测没有留下对话记录。"))
        if report.verdict is not Verdict.ACCEPTED:
            report_view.show_verdict(report, errors, current())
        raise typer.Exit(exit_codes.NOT_ACCEPTED)


def _failed(errors: Console, message: str) -> typer.Exit:
    errors.print(message, style="red", markup=False, highlight=False, soft_wrap=True)
    return typer.Exit(exit_codes.USAGE)


def _content(source: str, errors: Console) -> str:
    """The Report as JSON. What is written as no id is (an id has neither dots nor slashes) is a file."""
    if Path(source).is_file() or not source.isalnum():
        return Path(source).read_text("utf-8")
    with session(errors) as client:
        submission = client.get(f"submissions/{source}", answers.Submission)
        report = submission_view.report_of(client, submission)
    if report is None:
        if submission["final"]:  # Cancelled, or given up with its node.
            submission_view.show(submission, None, errors)
        else:
            errors.print(pick("It has no Report yet.", "还没有评测报告。"))
        raise typer.Exit(exit_codes.USAGE)
    return json.dumps(report)


def _write(report: Report, result: TestResult | TimedResult, output: Path) -> Path:
    transcript = unpack(
        result.transcript,
        case=result.case,
        part=result.part,
        params=result.params,
        assignment=report.assignment,
    )
    output.mkdir(parents=True, exist_ok=True)
    path = output / transcript.file_name
    path.write_text(transcript.dump(), "utf-8")
    return path
