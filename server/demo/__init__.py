"""The demo: a whole site, a course, and the solutions in `reference/` submitted by students over HTTP."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import httpx
from rich.console import Console
from rich.live import Live

from grader.assignment import AssignmentError
from server import publishing, site
from server.db.migrate import upgrade
from server.db.session import Database
from server.demo import tables
from server.demo.course import ADMIN, ASSISTANT, COURSE, seed
from server.demo.entrants import CountError, Entry, entries, gradable, most_wrong
from server.demo.student import Student, Submitted
from server.demo.student import board as board_of
from server.embedded import EmbeddedError, sole_owner
from server.settings import Settings, load

__all__ = ["CountError", "run"]
LOOK_SECONDS = 2.0
PATIENCE_SECONDS = 1200.0
"""After so long without the end of any submission, the demo has failed: a slow machine, or one with much to
grade, has as long as it takes."""
INTERRUPTED = 130
UNFINISHED = 1
"""Of a demo whose exit code somebody waits for: that it was stopped is no success."""
WIDTH = 120
"""Columns of the output where there is no terminal."""


def run(*, port: int | None, ended: Callable[[], bool]) -> int:
    """Run the demo; 0 if every verdict is the one that `reference/` names. Without g++, C++ is left out.

    The server's state lives in $SOLMARK_HOME/server (without that variable ./var/server), which one process
    at a time holds (HomeTakenError); the calibration goes where `solmark` looks for it. DEMO_EXIT=1 stops
    the site at the end. DEMO_WRONG says how many wrong solutions of each assignment are submitted (a number,
    or `all`; else CountError); without it some of one and one of each other: they take the machine by turns.
    """
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    settings = _settings()
    most_wrong([], os.environ.get("DEMO_WRONG", ""))  # Said before anything takes long.
    with sole_owner(settings.server_home):
        try:
            code = _run(settings, port, console, ended)
        except (AssignmentError, EmbeddedError, RuntimeError, httpx.HTTPError, subprocess.SubprocessError):
            if not ended():
                raise
            code = INTERRUPTED  # Ctrl-C reached a child too, which failed for that.
    if code == INTERRUPTED:
        console.print("Stopped: what is not graded yet is submitted anew at the next start.")
        return UNFINISHED if os.environ.get("DEMO_EXIT") == "1" else INTERRUPTED
    return code


def _run(settings: Settings, port: int | None, console: Console, ended: Callable[[], bool]) -> int:
    hardware = _calibrate(console, ended)
    if ended():
        return INTERRUPTED
    assignments = publishing.folders(Path("assignments"))
    names = [f"{path.parent.name}/{path.name}" for path in assignments]
    chosen = entries(Path("reference"), names, most_wrong(names, os.environ.get("DEMO_WRONG", "")))
    more = len(entries(Path("reference"), names)) - len(chosen)
    submissions, left_out = gradable(chosen)
    students = list(dict.fromkeys(entry.student for entry in submissions))
    passwords = _prepare(settings, students, assignments, console, ended)
    if ended():
        return INTERRUPTED
    console.print("Starting broker, web server, tasks and worker ...")
    with site.running(settings, host="127.0.0.1", port=port) as running:
        console.print(f"Solmark at {running.url}: grading {len(submissions)} submissions")
        if more:
            console.print(f"({more} more solutions with DEMO_WRONG=all)")
        if left_out:
            console.print(f"({len(left_out)} in C++ are {tables.NO_COMPILER})", highlight=False)
        with ExitStack() as stack:
            people = {
                login: stack.enter_context(Student(running.url, login, passwords[login]))
                for login in students
                if not ended()
            }
            staff = stack.enter_context(Student(running.url, ASSISTANT, passwords[ASSISTANT]))
            if left := [item for item in staff.unfinished() if item["author"] in people]:
                # They would be graded first, and the demo has minutes.
                for item in left:
                    people[item["author"]].cancel(item["id"])
                console.print(f"Cancelled {len(left)} submissions that an earlier run left in the queue")
            submitted = _grade(submissions, people, staff, running, console, ended)
        if ended():
            return INTERRUPTED
        console.print(tables.progress(submitted, left_out, console.width))
        for name in names:
            console.print(tables.board(board_of(running.url, name), hardware, submitted), highlight=False)
        if count := tables.unsettled(submitted):
            console.print(
                f"Right solutions that are unstable_timing: {count}. Other work kept this machine too busy "
                "to time them, so they have no place on the board. On a quiet machine they get one.",
                highlight=False,
            )
        console.print(tables.logins(passwords, students))
        console.print(f"All passwords: {settings.server_home / 'demo.json'}", soft_wrap=True, highlight=False)
        code = _judge(submitted, left_out, console)
        if os.environ.get("DEMO_EXIT") != "1" and not ended():
            console.print(f"Solmark at {running.url}/ (Ctrl-C to stop)")
            running.wait(ended)
    return code


def _settings() -> Settings:
    """Settings of a site of its own, whatever broker or database others may use."""
    home = Path(os.environ.get("SOLMARK_HOME") or "var").absolute()
    if os.environ.get("SOLMARK_HOME"):
        os.environ["SOLMARK_HOME"] = str(home)
    changes = {
        "server_home": home / "server",
        "broker_url": "",
        "database_url": "",
        # Times that do not settle on a busy machine are taken once more, not twice: the demo has minutes.
        "max_attempts": 2,
    }
    return load().model_copy(update=changes)


def _calibrate(console: Console, ended: Callable[[], bool]) -> str:
    """Measure this CPU, unless that was done; anew where another CPU was measured. Returns its name."""
    from grader.hardware.profile import HardwareError
    from grader.hardware.profile import load as load_hardware

    options = ["--quick"]
    try:
        found = load_hardware("cpu")
        if found.calibrated is not None:
            return found.name
    except HardwareError:
        options.append("--force")
    console.print("Calibrating: measuring this machine, once (about a minute, longer if it is busy) ...")
    code = "from grader.cli.main import app; app()"
    child = subprocess.Popen([sys.executable, "-c", code, "calibrate", *options])
    while child.poll() is None:
        if ended():
            child.terminate()
        time.sleep(0.1)
    if ended():
        return ""
    if child.returncode:
        raise EmbeddedError("this machine could not be calibrated: see above")
    return load_hardware("cpu").name


def _prepare(
    settings: Settings,
    students: list[str],
    assignments: Sequence[Path],
    console: Console,
    ended: Callable[[], bool],
) -> Mapping[str, str]:
    """A migrated database with course, people and assignments; everybody's password by login."""
    upgrade(settings.database)
    database = Database(settings.database)
    try:
        passwords = seed(database, settings, students)
        for path in assignments:
            if ended():
                break
            console.print(f"Publishing {path} ...", highlight=False)
            publishing.publish(database, settings, COURSE, str(path), by=ADMIN)
    finally:
        database.close()
    return passwords


def _grade(
    submissions: list[Entry],
    people: dict[str, Student],
    staff: Student,
    running: site.Site,
    console: Console,
    ended: Callable[[], bool],
) -> list[Submitted]:
    """Submit everything at once and wait: with a table that fills, or line by line where it has no room."""
    submitted = [people[entry.student].submit(entry) for entry in submissions if not ended()]
    deadline, done = time.monotonic() + PATIENCE_SECONDS, 0
    told: dict[str, str] = {}
    table = console.is_terminal and tables.lines(submitted) <= console.height
    begin = tables.progress(submitted, width=console.width) if table else ""
    with Live(begin, console=console, auto_refresh=False, transient=True) as live:
        while not all(one.final for one in submitted) and time.monotonic() < deadline and not ended():
            _sleep(LOOK_SECONDS, ended)
            running.supervisor.watch()
            waiting = {one.found["id"]: one for one in submitted if not one.final}
            for identity, found in staff.everything(waiting.keys()).items():
                waiting[identity].learn(found)
            if (count := sum(one.final for one in submitted)) > done:
                deadline, done = time.monotonic() + PATIENCE_SECONDS, count
            if table:
                live.update(tables.progress(submitted, width=console.width), refresh=True)
                continue
            for line in tables.news(submitted, told):
                console.print(line, highlight=False)
    if done < len(submitted) and not ended():
        console.print(
            f"[bold red]No submission came to its end for {PATIENCE_SECONDS / 60:g} minutes: gave up waiting"
        )
    return submitted


def _sleep(seconds: float, ended: Callable[[], bool]) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not ended():
        time.sleep(0.1)


def _judge(submitted: list[Submitted], left_out: list[Entry], console: Console) -> int:
    """Say what came out other than `reference/` names."""
    other = [one for one in submitted if not one.as_expected]
    for one in other:
        verdict = one.found["verdict"] or one.found["state"]
        console.print(
            f"[bold red]{one.entry.path}: {verdict}, expected {one.entry.expected.value}",
            highlight=False,
            soft_wrap=True,
        )
    console.print(tables.summary(submitted, left_out), highlight=False)
    return 1 if other else 0
