"""`solmark doctor`: what this machine can enforce and measure, and what to do about the rest."""

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from grader.cli import exit_codes
from grader.cli.language import pick, say
from grader.doctor.diagnosis import Diagnosis, State
from grader.sandbox.base import SandboxError

_MARKS = {
    State.OK: ("green", "ok", "正常"),
    State.WARNING: ("yellow", "warning", "注意"),
    State.FAILED: ("red", "failed", "失败"),
    State.SKIPPED: ("dim", "not tried", "未测试"),
}


def command(
    sandbox: Annotated[
        str | None, typer.Option(help="Sandbox to examine: bubblewrap (the default), docker or plain.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Try all that ranked grading needs. Exit code 0 if it is possible here, 3 if not."""
    from grader.doctor.diagnosis import examine

    errors = Console(stderr=True)
    try:
        with errors.status("") as status:
            diagnosis = examine(sandbox, lambda text: status.update(escape(say(text))))
    except SandboxError as error:
        errors.print(str(error), style="red", markup=False, highlight=False)
        raise typer.Exit(exit_codes.USAGE) from error
    if as_json:
        typer.echo(diagnosis.model_dump_json(indent=2))
    else:
        _show(diagnosis, Console())
    if not diagnosis.rankable:
        raise typer.Exit(exit_codes.INFRASTRUCTURE)


def _show(diagnosis: Diagnosis, console: Console) -> None:
    table = Table(show_edge=False, pad_edge=False)
    table.add_column(pick("check", "检查项"), overflow="fold")
    table.add_column("", no_wrap=True)
    table.add_column(pick("found", "结果"), overflow="fold")
    for check in diagnosis.checks:
        colour, en, zh = _MARKS[check.state]
        mark = f"[{colour}]{pick(en, zh)}[/]"
        table.add_row(escape(say(check.title)), mark, escape(check.found))
    console.print(table)
    for check in diagnosis.checks:
        if check.advice is not None:
            colour = _MARKS[check.state][0]
            console.print(
                f"\n[{colour}]{escape(say(check.title))}[/]: {escape(say(check.advice))}", highlight=False
            )
    console.print()
    if diagnosis.rankable:
        console.print(pick("Ranked grading is possible here.", "此机器可以进行排名评测。"), style="green")
    else:
        console.print(
            pick(
                "Ranked grading is not possible here: see what failed above. solmark grade still works for "
                "practice wherever a sandbox starts.",
                "此机器不能进行排名评测：请查看上面失败的项目。只要沙箱能启动，solmark grade 仍可用于练习。",
            ),
            style="red",
        )
