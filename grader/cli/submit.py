"""`solmark submit`: hand in files."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grader import upload
from grader.cli import answers, exit_codes, submission_view
from grader.cli.client import session
from grader.cli.language import os_reason, pick, say
from grader.contract import MAX_FILE_BYTES, MAX_FILES, OFFERED_MODES, Language, Mode
from grader.languages import FilesError
from grader.messages import text as sentence


def command(
    assignment: Annotated[str, typer.Argument(help="Name such as kernels/add-rmsnorm.")],
    files: Annotated[list[Path], typer.Argument(help="Files to hand in; one alone is the entry.")],
    course: Annotated[str | None, typer.Option(help="Course, if you are in several.")] = None,
    mode: Annotated[
        Mode, typer.Option(help="test: correctness only; grade: timing and score too.")
    ] = Mode.GRADE,
    language: Annotated[Language | None, typer.Option(help="Overrides what the suffix says.")] = None,
    hardware: Annotated[str | None, typer.Option(help="Hardware class; by default the primary one.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Watch until it is graded.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Submit FILES; with --follow exit 0 accepted, 1 not accepted, 3 infrastructure; 2 is a wrong use."""
    errors, console = Console(stderr=True), Console()
    if mode not in OFFERED_MODES:
        refusal = say(sentence("unsupported_mode", mode=mode.value))
        errors.print(f"--mode: {refusal}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(exit_codes.USAGE)
    contents = _read(files, errors)
    with session(errors) as client:
        path = f"courses/{client.course(course)}/assignments/{assignment.strip('/')}/submissions"
        form = {"mode": mode.value, "language": language and language.value, "hardware": hardware}
        created = client.post(
            path,
            answers.Submission,
            {key: value for key, value in form.items() if value},
            files=[("files", (name, data, "application/octet-stream")) for name, data in contents.items()],
        )
        if not as_json:
            text = pick(f"Submitted: {created['id']}", f"已提交：{created['id']}")
            errors.print(text, markup=False, highlight=False, soft_wrap=True)
        report = None
        if follow:
            submission_view.follow(client, created["id"], errors)
            created = client.get(f"submissions/{created['id']}", answers.Submission)
            report = submission_view.report_of(client, created)
        if as_json:
            typer.echo(json.dumps({**created, "report": report}, ensure_ascii=False, indent=2))
        elif follow:
            submission_view.show(created, report, console)
        if follow:
            raise typer.Exit(submission_view.exit_code(created))


def _read(files: list[Path], errors: Console) -> dict[str, bytes]:
    """Contents by base name; what cannot be handed in ends the command before anything is sent."""
    contents: dict[str, bytes] = {}
    fault = ""
    for path in files:
        try:
            if not path.is_file():
                fault = f"{path}: " + pick("not a file that exists", "文件不存在")
            elif path.name in contents:
                fault = f"{path.name}: " + pick("given twice", "重复给出")
            else:
                contents[path.name] = path.read_bytes()
        except OSError as error:
            fault = f"{path}: {os_reason(error)}"
        if fault:
            break
    if not fault:
        try:
            contents = upload.expand(contents)
        except FilesError as error:
            fault = say(error.text)
    total = sum(map(len, contents.values()))
    if not fault and total > MAX_FILE_BYTES:
        fault = pick(
            f"{total} bytes together; at most {MAX_FILE_BYTES} are taken.",
            f"总计 {total} 字节；最多接受 {MAX_FILE_BYTES} 字节。",
        )
    if not fault and len(contents) > MAX_FILES:
        fault = pick(f"At most {MAX_FILES} files are taken.", f"最多接受 {MAX_FILES} 个文件。")
    if fault:
        errors.print(fault, style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(exit_codes.USAGE)
    return contents
