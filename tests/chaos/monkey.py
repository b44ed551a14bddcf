"""Kills at random moments, and delivers twice, late and in vain. Every act is drawn from the seed."""

import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import redis
from kombu.exceptions import OperationalError

from grader.contract import GRADE_TASK, SERVER_QUEUE, STORE_TASK, grade_queue
from tests.chaos.assignment import HARDWARE
from tests.chaos.judge import stand_in, start_time
from tests.chaos.leftovers import judges, members
from tests.chaos.plan import SANDBOXED
from tests.chaos.stage import DISPATCHERS, Stage, signal_quietly
from tests.chaos.students import FINAL, Log, Student

SANDBOX_WAIT_SECONDS = 12.0
POLL_SECONDS = 0.2
REFUSED_SECONDS = 15.0
"""Long enough for a job to be done, and for two tries to store its Report (see `worker.RESEND_SECONDS`)."""
OFTEN = ("kill worker", "kill judge", "kill sandbox")
"""Acts that are in the deck twice, in a run of some length."""
LONG = 100
"""So many submissions make a run of some length."""


class Monkey:
    """Draws the next act from a deck that is shuffled anew when it is empty, so that each has its turn."""

    def __init__(self, stage: Stage, students: Sequence[Student], log: Log, seed: int) -> None:
        self._stage = stage
        self._students = students
        self._log = log
        self._random = random.Random(seed)
        self._again = OFTEN if sum(len(student.works) for student in students) >= LONG else ()
        self._acts: dict[str, Callable[[], bool]] = {
            "kill worker": self._kill_worker,
            "kill judge": self._kill_judge,
            "kill sandbox": self._kill_sandbox,
            "kill server": lambda: self._kill("web"),
            "kill dispatcher": lambda: self._kill(self._random.choice(DISPATCHERS)),
            "kill both dispatchers": lambda: self._kill(*DISPATCHERS),
            "kill broker": lambda: self._kill("broker"),
            "lose broker": self._lose_broker,
            "kill everything": self._kill_everything,
            "stop worker": self._stop_worker,
            "kill database": lambda: self._restart_database(kill=True),
            "stop database": lambda: self._restart_database(kill=False),
            "deliver twice": self._deliver_twice,
            "report twice": self._report_twice,
            "report late": self._report_late,
            "refuse report twice": self._refuse_report,
        }
        self._deck: list[str] = []
        self.done: Counter[str] = Counter()
        """Acts that found a victim, by name."""
        self.hit: set[str] = set()
        """Submissions whose sandbox was killed: their program seems to have died by itself."""

    @property
    def has_done_all(self) -> bool:
        """Whether each act has found a victim."""
        return not self.missing

    @property
    def missing(self) -> list[str]:
        """Acts that have not yet found a victim."""
        return [name for name in self._acts if not self.done[name]]

    def act(self, *, only_missing: bool) -> None:
        """The next act; or one of those that have not yet found a victim."""
        if only_missing:
            self._deck = [self._random.choice(self.missing)]
        elif not self._deck:
            self._deck = [*self._acts, *self._again]
            self._random.shuffle(self._deck)
            # What has never found a victim goes first.
            self._deck.sort(key=lambda name: self.done[name] > 0, reverse=True)
        name = self._deck.pop()
        found = self._acts[name]()
        self._log.write("act", name=name, victim=found)
        self.done[name] += found

    # Deaths.

    def _pause(self) -> float:
        return self._random.choice((0.0, self._random.uniform(0.0, 2.0)))

    def _kill(self, *names: str) -> bool:
        self._stage.kill(*names, back_after=self._pause())
        return True

    def _kill_worker(self) -> bool:
        return self._kill(self._random.choice(self._stage.workers))

    def _kill_everything(self) -> bool:
        return self._kill("web", *DISPATCHERS, *self._stage.workers, "broker")

    def _lose_broker(self) -> bool:
        self._stage.lose_broker(back_after=1.0 + self._pause())
        return True

    def _stop_worker(self) -> bool:
        self._stage.stop_politely(self._random.choice(self._stage.workers))
        return True

    def _restart_database(self, *, kill: bool) -> bool:
        self._stage.database.restart(self._random.uniform(0.2, 2.0), kill=kill)
        return True

    def _kill_judge(self) -> bool:
        deadline = time.monotonic() + 3.0
        while not (found := judges(self._stage.folder)):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return signal_quietly(self._random.choice(found))

    def _kill_sandbox(self) -> bool:
        """Any process inside of a sandbox of the run: the sandbox's own, or the program's."""
        deadline = time.monotonic() + SANDBOX_WAIT_SECONDS
        while time.monotonic() < deadline:
            self._stage.watch()
            time.sleep(POLL_SECONDS)
            for line in self._witnessed()[-50:]:
                if not line["kind"].startswith(SANDBOXED) or not _lives(line):
                    continue
                time.sleep(self._random.uniform(0.0, 1.0))
                inside = members(line["pid"], line["start"])
                if inside and signal_quietly(self._random.choice(inside)):
                    self.hit.add(line["job"]["submission"])
                    return True
        return False

    # Messages.

    def _deliver_twice(self) -> bool:
        """A job that was delivered comes again: of one that runs, and of one that is long over."""
        found = self._witnessed()
        if not found:
            return False
        for line in (found[-1], self._random.choice(found)):
            self._send(GRADE_TASK, grade_queue(HARDWARE), line["job"])
        return True

    def _report_twice(self) -> bool:
        """A second Report, of another content, on an attempt whose submission is final."""
        line = self._finished_attempt()
        if line is None:
            return False
        return self._report(line)

    def _report_late(self) -> bool:
        """A Report on an attempt after which another one was opened."""
        found = self._witnessed()
        last = {line["job"]["submission"]: line["job"]["attempt"] for line in found}
        over = [line for line in found if line["job"]["attempt"] < last[line["job"]["submission"]]]
        return self._report(self._random.choice(over)) if over else False

    def _refuse_report(self) -> bool:
        """The database refuses the Report on a submission under way, for as long as two tries take."""
        database = self._stage.database
        going = [
            seen for student in self._students for seen in list(student.seen.values())
            if seen.state not in FINAL and seen.work.kind != "die" and seen.work.cancelled_after is None
        ]  # fmt: skip
        running = [seen for seen in going if seen.state == "running"]
        if not going:
            return False
        number = database.number_of(self._random.choice(running or going).id)
        try:
            database.refuse_reports(number)
            end = time.monotonic() + REFUSED_SECONDS
            while self._refusals(number) < 2 and time.monotonic() < end:
                self._stage.watch()
                time.sleep(2 * POLL_SECONDS)
        finally:
            database.take_reports()
        return self._refusals(number) >= 2

    def _refusals(self, number: int) -> int:
        """How often the dispatchers said that they could not store it."""
        text = re.compile(rf"chaos refuses report on {number}\b")
        lines = (line for name in DISPATCHERS for line in self._stage.log(name).splitlines())
        return sum('"report not stored"' in line and text.search(line) is not None for line in lines)

    def _finished_attempt(self) -> dict[str, Any] | None:
        final = {
            seen.id for student in self._students for seen in list(student.seen.values())
            if seen.state == "done" and not seen.reruns
        }  # fmt: skip
        found = [line for line in self._witnessed() if line["job"]["submission"] in final]
        return self._random.choice(found) if found else None

    def _report(self, line: dict[str, Any]) -> bool:
        """A Report that lies: were it to count, the audit would see it."""
        verdict = self._random.choice(("accepted", "wrong_answer"))
        return self._send(STORE_TASK, SERVER_QUEUE, stand_in(line["job"], "liar", verdict, 0.999))

    def _send(self, task: str, queue: str, document: dict[str, Any]) -> bool:
        try:
            self._stage.queue.send_task(task, args=[json.dumps(document)], queue=queue, retry=False)
        except (OperationalError, redis.RedisError, OSError):
            return False
        return True

    def _witnessed(self) -> list[dict[str, Any]]:
        return witnessed(self._stage.witness)


def witnessed(path: Path) -> list[dict[str, Any]]:
    """What the judges wrote down, oldest first."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def _lives(line: dict[str, Any]) -> bool:
    """Whether the judge that wrote the line still runs."""
    try:
        return bool(start_time(line["pid"]) == line["start"])
    except OSError:
        return False
