"""Entry point of the `solmark` command: one typer app, one file per subcommand."""

import typer

from grader.cli import grade

app = typer.Typer(
    name="solmark",
    help="Grade, submit and author assignments scored against the speed of light.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)

app.command("grade", help="Grade files against an assignment on this machine.")(grade.command)
