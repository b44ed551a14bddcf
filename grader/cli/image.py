"""`solmark image`: build the sandbox image with the extra packages of an assignment, and show the log."""

import os
from typing import Annotated

import typer
from rich.console import Console

from grader.cli import exit_codes
from grader.cli.language import pick
from grader.plaintext import clean

_LOG_CHARS = 1 << 20


def command(
    assignment: Annotated[str, typer.Argument(help="Name such as kernels/add-rmsnorm, or a folder.")],
    base: Annotated[
        str | None, typer.Option(help="Image to add to; by default that of SOLMARK_SANDBOX_IMAGE.")
    ] = None,
) -> None:
    """Print the log and at last the image's digest; exit 0, 2 for usage, 3 if it cannot be built."""
    from grader.assignment import AssignmentError, find, load
    from grader.sandbox.base import SandboxError
    from grader.sandbox.docker import DockerBackend

    errors = Console(stderr=True)
    try:
        packages = load(find(assignment)).spec.sandbox.packages
    except AssignmentError as error:
        errors.print(clean(str(error)), style="red", markup=False, highlight=False)
        raise typer.Exit(exit_codes.USAGE) from error
    if not packages:
        errors.print(
            pick("This assignment names no packages.", "这份作业没有列出额外的软件包。"), highlight=False
        )
        return
    if os.geteuid() != 0:
        errors.print(pick("Run it as root.", "请以 root 运行。"), style="red")
        raise typer.Exit(exit_codes.USAGE)
    try:
        built = DockerBackend(base).build(packages)
    except SandboxError as error:
        errors.print(clean(str(error)), style="red", markup=False, highlight=False)
        raise typer.Exit(exit_codes.INFRASTRUCTURE) from error
    typer.echo(clean(built.log, _LOG_CHARS))
    if not built.now:
        errors.print(pick("It was built before.", "镜像此前已经构建。"), highlight=False)
    typer.echo(built.digest)
