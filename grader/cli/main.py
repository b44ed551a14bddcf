"""Entry point of the `solmark` command: one typer app, one file per subcommand."""

import io
import sys
from contextlib import suppress
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer import rich_utils

from grader.cli import (
    board,
    calibrate,
    check,
    doctor,
    exit_codes,
    grade,
    image,
    login,
    new,
    replay,
    signals,
    status,
    submit,
    transcript,
)
from grader.cli.language import pick


class _Commands(typer.Typer):
    """What holds for every command: how it ends where it does not end by itself.

    A signal ends it with all that it has started. A defect of ours is the infrastructure's failure: Python's
    own exit code, 1, would blame a submission.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            with signals.ending():
                return super().__call__(*args, **kwargs)
        except Exception as defect:  # noqa: BLE001 (it is told in full)
            with suppress(Exception):  # Where stderr is gone.
                sys.excepthook(type(defect), defect, defect.__traceback__)
            raise SystemExit(exit_codes.INFRASTRUCTURE) from None


app = _Commands(
    name="solmark",
    help="Grade, submit and author assignments scored against the speed of light.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"solmark {version('solmark')}")
        raise typer.Exit


@app.callback(help=app.info.help)
def _localize(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Say which version this is.", is_eager=True, callback=_say_version),
    ] = False,
) -> None:
    """What typer says when a command is interrupted; a terminal that is not in UTF-8 shows what it can."""
    rich_utils.ABORTED_TEXT = pick("Aborted.", "已中止。")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


app.command("grade", help="Grade files against an assignment on this machine.")(grade.command)
app.command("check", help="Check an author's assignment: solutions, bound, tolerances, pages.")(check.command)
app.command("new", help="Write a small complete assignment to start from.")(new.command)
app.command("doctor", help="Say what this machine can enforce, and what to do.")(doctor.command)
app.command("image", help="Build the sandbox image with an assignment's packages.")(image.command)
app.command("calibrate", help="Measure this machine's ceilings and the judge's constant.")(calibrate.command)
app.command("login", help="Log in to a server and keep a token.")(login.command)
app.command("submit", help="Hand files in to a course's assignment.")(submit.command)
app.command("status", help="Show or follow a submission.")(status.command)
app.command("transcript", help="Write down what was said in a dialogue's public cases.")(transcript.command)
app.command("replay", help="Ask files on this machine what was asked in a transcript.")(replay.command)
app.command("board", help="Show an assignment's board.")(board.command)
