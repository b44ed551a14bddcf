"""`solmark board`: the leaderboard of an assignment."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from grader.cli import answers
from grader.cli.client import session
from grader.cli.language import local_minute, pick

NARROW, WIDE = 90, 110
"""Columns of a terminal below which the board leaves out when something was submitted, and the machine."""


def command(
    assignment: Annotated[str, typer.Argument(help="Name such as kernels/add-rmsnorm.")],
    course: Annotated[str | None, typer.Option(help="Course, if you are in several.")] = None,
    hardware: Annotated[str | None, typer.Option(help="Hardware class; by default the primary one.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Show the board: the best accepted submission of each team, as a share of the speed of light."""
    errors, console = Console(stderr=True), Console()
    with session(errors) as client:
        path = f"courses/{client.course(course)}/assignments/{assignment.strip('/')}/board"
        board = client.pages(path, answers.Board, "entries", hardware=hardware)
    if as_json:
        typer.echo(json.dumps(board, ensure_ascii=False, indent=2))
        return
    entries = board["entries"]
    if not entries:
        console.print(pick("Nobody stands on this board yet.", "榜单上还没有人。"))
        return
    table = Table(title=f"{assignment} · {board['hardware']}")
    columns = [("rank", "名次"), ("name", "名称"), ("speed of light", "光速占比"), ("interval", "区间"),
               ("submitted", "提交时间"), ("hardware", "硬件")]  # fmt: skip
    # A narrow terminal keeps names whole and does without the last columns.
    shown = columns[: 4 if console.width < NARROW else 5 if console.width < WIDE else 6]
    for column in shown:
        table.add_column(pick(*column), overflow="fold", no_wrap=column[0] not in {"name", "hardware"})
    ranks = [entry["rank"] for entry in entries]
    for entry in entries:
        shared = "=" if ranks.count(entry["rank"]) > 1 else ""
        cells = (
            f"{shared}{entry['rank']}", escape(entry["name"]), f"{entry['fraction']:.1%}",
            f"{entry['low']:.1%} – {entry['high']:.1%}", local_minute(entry["submitted"]),
            escape(entry["hardware_name"] or entry["hardware"]),
        )  # fmt: skip
        table.add_row(*cells[: len(shown)])
    console.print(table)
