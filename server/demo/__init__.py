"""The demo: a whole site, a course, and the solutions in `reference/` submitted by students over HTTP."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.live import Live

from server import publishing, site
from server.db.migrate import upgrade
from server.db.session import Database
from server.demo import tables
from server.demo.course import ADMIN, ASSISTANT, COURSE, seed
from server.demo.entrants import Entry, entries
from server.demo.student import Student, Submitted
from server.demo.student import board as board_of
from server.settings import Settings, load

LOOK_SECONDS = 2.0
PATIENCE_SECONDS = 1200.0
"""After so long without the end of all submissions, the demo has failed."""
WRONG = 10
"""Wrong solutions of each assignment, where DEMO_WRONG does not say: the demo has minutes."""
INTERRUPTED = 130
WIDTH = 120
"""Columns of the output where there is no terminal."""


def run(*, port: int | None, ended: Callable[[], bool]) -> int:
    """Run the demo; 0 if every verdict is of the class that `reference/` names.

    State lives in $SOLMARK_HOME (./var). DEMO_EXIT=1 stops the site at the end. DEMO_WRONG says how many
    wrong solutions of each assignment are submitted (a number, or `all`): they take the machine by turns.
    """
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    settings = _settings()
    with console.status("Measuring this machine (once) ..."):
        _calibrate()
    assignments = publishing.folders(Path("assignments"))
    names = [f"{path.parent.name}/{path.name}" for path in assignments]
    wrong = os.environ.get("DEMO_WRONG") or str(WRONG)
    submissions = entries(Path("reference"), names, None if wrong == "all" else int(wrong))
    there = len(entries(Path("reference"), names))
    students = list(dict.fromkeys(entry.student for entry in submissions))
    upgrade(settings.database)
    database = Database(settings.database)
    try:
        passwords = seed(database, settings, students)
        for path in assignments:
            with console.status(f"Publishing {path} ..."):
                publishing.publish(database, settings, COURSE, str(path), by=ADMIN)
    finally:
        database.close()
    with site.running(settings, host="127.0.0.1", port=port) as running:
        console.print(f"Solmark at {running.url}: grading {len(submissions)} submissions")
        if len(submissions) < there:
            console.print(f"({there - len(submissions)} more wrong solutions with DEMO_WRONG=all)")
        with ExitStack() as stack:
            people = {
                login: stack.enter_context(Student(running.url, login, passwords[login]))
                for login in students
            }
            staff = stack.enter_context(Student(running.url, ASSISTANT, passwords[ASSISTANT]))
            submitted = _grade(submissions, people, staff, running, console, ended)
        if ended():
            console.print("Stopped.")
            return INTERRUPTED
        for name in names:
            console.print(tables.board(board_of(running.url, name)))
        console.print(tables.logins(passwords, students))
        console.print(f"All passwords: {settings.server_home / 'demo.json'}", soft_wrap=True, highlight=False)
        code = _judge(submitted, console)
        if os.environ.get("DEMO_EXIT") != "1" and not ended():
            console.print(f"Solmark at {running.url}/ (Ctrl-C to stop)")
            running.wait(ended)
    return code


def _settings() -> Settings:
    """Settings of a site of its own in $SOLMARK_HOME, whatever broker or database others may use."""
    home = Path(os.environ.get("SOLMARK_HOME") or "var").absolute()
    os.environ["SOLMARK_HOME"] = str(home)
    changes = {
        "server_home": home / "server",
        "broker_url": "",
        "database_url": "",
        # Times that do not settle on a busy machine are taken once more, not twice: the demo has minutes.
        "max_attempts": 2,
    }
    return load().model_copy(update=changes)


def _calibrate() -> None:
    """Measure this CPU, unless that was done; anew where another CPU was measured."""
    from grader.hardware.profile import HardwareError
    from grader.hardware.profile import load as load_hardware

    options = ["--quick"]
    try:
        if load_hardware("cpu").calibrated is not None:
            return
    except HardwareError:
        options.append("--force")
    code = "from grader.cli.main import app; app()"
    subprocess.run([sys.executable, "-c", code, "calibrate", *options], check=True)


def _grade(
    submissions: list[Entry],
    people: dict[str, Student],
    staff: Student,
    running: site.Site,
    console: Console,
    ended: Callable[[], bool],
) -> list[Submitted]:
    """Submit everything at once and wait, with a table that fills."""
    submitted = [people[entry.student].submit(entry) for entry in submissions]
    deadline = time.monotonic() + PATIENCE_SECONDS
    told: set[str] = set()
    with Live(tables.progress(submitted), console=console, auto_refresh=False, transient=True) as live:
        while not all(one.final for one in submitted) and time.monotonic() < deadline and not ended():
            time.sleep(LOOK_SECONDS)
            running.supervisor.watch()
            known = staff.everything(len(submitted))
            for one in submitted:
                if not one.final and one.found["id"] in known:
                    one.learn(known[one.found["id"]])
            if console.is_terminal:
                live.update(tables.progress(submitted), refresh=True)
                continue
            for one in submitted:
                if one.final and one.found["id"] not in told:
                    told.add(one.found["id"])
                    console.print("  ".join(cell for cell in tables.row(one) if cell), highlight=False)
    console.print(tables.progress(submitted))
    return submitted


def _judge(submitted: list[Submitted], console: Console) -> int:
    """Say what came out other than `reference/` names."""
    other = [one for one in submitted if not one.as_expected]
    for one in other:
        verdict = one.found["verdict"] or one.found["state"]
        console.print(
            f"[bold red]{one.entry.path}: {verdict}, expected {one.entry.expected.value}",
            highlight=False,
            soft_wrap=True,
        )
    if not other:
        console.print(f"All {len(submitted)} verdicts are as expected.")
    return 1 if other else 0
