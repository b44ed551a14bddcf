"""`solmark status`: one submission, or your latest ones."""

import json
from typing import Annotated

import typer
from rich.console import Console

from grader.cli import answers, exit_codes, submission_view
from grader.cli.client import FINAL_STATES, session
from grader.cli.language import pick


def command(
    submission: Annotated[
        str | None, typer.Argument(help="Id of a submission; without it your latest ones are listed.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Watch until it is graded.")] = False,
    course: Annotated[str | None, typer.Option(help="Course, if you are in several.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Show submissions; of a graded one, exit 0 accepted, 1 not accepted, 3 infrastructure."""
    errors, console = Console(stderr=True), Console()
    with session(errors) as client:
        if submission is None:
            listing = client.get(
                f"courses/{client.course(course)}/submissions", answers.Submissions, limit=20
            )["items"]
            if not follow:
                if as_json:
                    typer.echo(json.dumps(listing, ensure_ascii=False, indent=2))
                else:
                    submission_view.table(listing, console)
                return
            if not listing:
                errors.print(pick("You have no submission yet.", "您还没有提交。"))
                raise typer.Exit(exit_codes.USAGE)
            submission = listing[0]["id"]
        if follow:
            submission_view.follow(client, submission, errors)
        found = client.get(f"submissions/{submission}", answers.Submission)
        report = submission_view.report_of(client, found)
        if as_json:
            typer.echo(json.dumps({**found, "report": report}, ensure_ascii=False, indent=2))
        else:
            submission_view.show(found, report, console)
        if found["state"] in FINAL_STATES:
            raise typer.Exit(submission_view.exit_code(found))
