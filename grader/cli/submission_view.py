"""A submission of the server as text for the terminal, while it runs and when it is done."""

from typing import Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from grader.cli import answers, exit_codes, report_view
from grader.cli.client import ALIVE, Client, ClientError, UnreachableError
from grader.cli.language import current, local_minute, pick
from grader.contract import ContractError, Report, Verdict, read

NARROW = 96
"""Columns of a terminal below which a list leaves out when something was submitted."""
GRADED = frozenset({"done", "grader_error"})
STATES = {
    "queued": ("in the queue", "排队中"),
    "dispatched": ("sent to a node", "已发送到节点"),
    "running": ("being graded", "评测中"),
    "done": ("graded", "已评测"),
    "cancelled": ("cancelled", "已取消"),
    "grader_error": ("grader error", "评测系统错误"),
}


def outcome_name(submission: dict[str, Any]) -> str:
    """The verdict in words, or the state while there is none."""
    if submission["state"] in GRADED and submission["verdict"] in set(Verdict):
        return report_view.verdict_name(Verdict(submission["verdict"]))
    return _state_name(submission["state"])


def exit_code(submission: dict[str, Any]) -> int:
    """0 accepted, 1 not accepted or cancelled, 3 our failure."""
    if submission["state"] == "grader_error":
        return exit_codes.INFRASTRUCTURE
    verdict = submission["verdict"]
    return exit_codes.of(Verdict(verdict)) if verdict in set(Verdict) else exit_codes.NOT_ACCEPTED


def follow(client: Client, submission: str, errors: Console) -> None:
    """Print progress to `errors` until the submission is final, or whoever watches has seen enough."""
    try:
        _follow(client, submission, errors)
    except KeyboardInterrupt:
        errors.print(pick("Stopped watching; the submission goes on.", "已停止查看；提交仍在继续。"))
        raise typer.Exit(exit_codes.INTERRUPTED) from None


def _follow(client: Client, submission: str, errors: Console) -> None:
    said = state = ""
    with errors.status(pick("waiting", "等待中")) as status:
        for name, data in client.follow(submission):
            if name == "state":
                state = data.get("state", "")
                line = _in_queue(client, submission) if state == "queued" else _state_name(state)
            elif name == ALIVE and state == "queued":
                line = _in_queue(client, submission)
            elif name == "progress":
                counted = f"{data['done']}/{data['total']}" if data.get("total") else ""
                phase = report_view.phase_name(data["phase"])
                line = " · ".join(filter(None, (phase, data.get("case"), counted, data.get("text"))))
            else:
                continue
            line = line.split("\n")[0][:160]
            if line and line != said:
                said = line
                if errors.is_terminal:
                    status.update(line.replace("[", "\\["))
                else:
                    errors.print(line, markup=False, highlight=False, soft_wrap=True)


def _state_name(state: str) -> str:
    return pick(*STATES.get(state, (state, state)))


def _in_queue(client: Client, submission: str) -> str:
    """The state with the place in the queue and the expected wait, as far as they are known."""
    try:
        found = client.get(f"submissions/{submission}", answers.Submission)
    except UnreachableError:
        return ""
    place = found.get("queue")
    if not place:
        return _state_name(found["state"])
    ahead, seconds = place["ahead"], place["expected_seconds"]
    if place.get("reason") == "quarantined":
        wait = pick(
            "this assignment is not graded until staff let it go on", "该作业已停止评测，等待教学人员处理"
        )
    elif seconds is None:
        hardware = found["hardware"]
        wait = pick(f"no machine of the class {hardware} is up", f"目前没有 {hardware} 类机器在线")
    elif seconds < 90:
        wait = pick(
            f"about {max(round(seconds, -1), 10):.0f} s to wait",
            f"约需等待 {max(round(seconds, -1), 10):.0f} 秒",
        )
    else:
        wait = pick(f"about {seconds / 60:.0f} min to wait", f"约需等待 {seconds / 60:.0f} 分钟")
    where = pick(f"{ahead} ahead", f"前面还有 {ahead} 个") if ahead else pick("next in turn", "下一个就是")
    # "Next" would promise what no machine is there to keep.
    parts = [wait] if seconds is None and not ahead else [where, wait]
    return " · ".join([_state_name("queued"), *parts])


def report_of(client: Client, submission: dict[str, Any]) -> dict[str, Any] | None:
    """The submission's Report as JSON, None if it has none."""
    if submission["state"] not in GRADED or submission["verdict"] is None:
        return None
    try:
        found: dict[str, Any] = client.get(f"submissions/{submission['id']}/report")
    except ClientError as error:
        if error.status == 404:  # Given up without a Report: its node was lost.
            return None
        raise
    return found


def show(submission: dict[str, Any], report: dict[str, Any] | None, console: Console) -> None:
    """Print what is known of a final or running submission."""
    import json

    console.print(
        f"{submission['assignment']} · {pick('submission', '提交')} {submission['number']} "
        f"({submission['id']}): {outcome_name(submission)}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    if report is None:
        message = submission.get("message")
        if message:
            console.print(message["zh" if current() == "zh" else "en"], markup=False, highlight=False)
        return
    try:
        report_view.show(read(Report, json.dumps(report)), console, current())
    except ContractError as error:
        # Another version's Report: the verdict above holds, its details cannot be shown.
        console.print(str(error), style="yellow", markup=False, highlight=False)


def table(submissions: list[dict[str, Any]], console: Console) -> None:
    """A list of submissions, newest first."""
    view = Table(box=SIMPLE, padding=(0, 1, 0, 0))
    columns = [
        ("id", "编号"), ("assignment", "作业"), ("result", "结果"), ("light", "光速"), ("points", "分数"),
        ("submitted", "提交时间"),
    ]  # fmt: skip
    if console.width < NARROW:  # The order tells which is newer.
        columns.pop()
    for en, zh in columns:
        view.add_column(pick(en, zh), no_wrap=en != "result")
    for one in submissions:
        fraction, points = one["fraction"], one["points"]
        cells = (
            one["id"],
            one["assignment"],
            outcome_name(one),
            "–" if fraction is None else f"{fraction:.1%}",
            "–" if points is None else f"{points:g}",
            local_minute(one["created"])[5:],
        )
        view.add_row(*cells[: len(columns)])
    console.print(view)
