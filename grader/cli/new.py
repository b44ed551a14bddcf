"""`solmark new`: a small complete assignment to change into one's own."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grader.cli import exit_codes
from grader.cli.language import pick


def command(
    name: Annotated[str, typer.Argument(help="Track and slug, such as kernels/add-rmsnorm.")],
    kind: Annotated[str, typer.Option(help="function or dialogue.")] = "function",
    topic: Annotated[str, typer.Option(help="Number of the syllabus.")] = "0.0",
    checkout: Annotated[Path, typer.Option(help="Folder that holds assignments/ and reference/.")] = Path(),
) -> None:
    """Write assignments/NAME and reference/NAME; they pass `solmark check`."""
    from grader.scaffold.make import ScaffoldError, make

    try:
        written = make(name, kind, checkout, topic)
    except ScaffoldError as error:
        Console(stderr=True).print(str(error), style="red", markup=False, highlight=False)
        raise typer.Exit(exit_codes.USAGE) from error
    for path in written:
        typer.echo(str(path))
    folder = checkout / "assignments" / name
    typer.echo(pick(f"Next: solmark check {folder}", f"下一步：solmark check {folder}"))
