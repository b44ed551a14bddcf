"""One chaos run: students hand in while everything is killed; then, left in peace, all must be right."""

import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import func, select

from server.db.models import Attempt, Report, Score, Submission
from server.db.session import Database
from server.grading.states import OPEN, AttemptState
from tests.chaos import plan
from tests.chaos.assignment import COURSE, FEW, FEW_LIMIT, MANY
from tests.chaos.audit import Outcome, audit, read
from tests.chaos.databases import Postgres, Sqlite
from tests.chaos.leftovers import groups, processes
from tests.chaos.monkey import Monkey, witnessed
from tests.chaos.staff import Staff
from tests.chaos.stage import Bundles, Stage, opened
from tests.chaos.standstill import Watch
from tests.chaos.students import FINAL, Log, Student

STUCK_SECONDS = 120.0
"""When, after the last death, nothing has become final for so long, the rest is stuck."""
LAST_ACTS = 40
"""So often, after nearly all is done, acts that have not yet found a victim are tried."""
NEARLY = 0.05
"""Share of all submissions that may be unfinished when the last acts begin."""
PROBES = 3
LEFT_LOOKS = 75
LEFT_PAUSE_SECONDS = 0.2
"""After everything was stopped, what is left is looked for so often: a standstill between two is no delay."""
TICK_SECONDS = 0.1


@dataclass(frozen=True)
class Result:
    """A run and what came of it."""

    seed: int
    database: str
    outcome: Outcome
    acts: dict[str, int]
    seconds: float
    stood_still_seconds: float
    """For so long of these nothing on this machine ran."""


def run(
    folder: Path, database: str, seed: int, bundles: Bundles, *, submissions: int, sandboxed: int,
    students: int, workers: int, pause: float, say: Callable[[str], None],
) -> Result:  # fmt: skip
    """Run in a fresh folder. `pause` is the mean time between two acts, in seconds."""
    begin = time.monotonic()
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="chaos-pg-") as scratch:
        Path(scratch).chmod(0o755)
        site = Sqlite(folder) if database == "sqlite" else Postgres(Path(scratch, "cluster"))
        with closing(site), closing(Log(folder / "students.jsonl")) as log, closing(Watch(log)) as watch:
            generator = random.Random(seed)
            works = plan.draw(generator, students, submissions, sandboxed)
            with opened(folder, site, bundles, students=students, workers=workers) as stage:
                class_ = [
                    Student(number, stage.url, token, log, works[number], generator.getrandbits(32))
                    for number, token in enumerate(stage.tokens)
                ]
                monkey = Monkey(stage, class_, log, generator.getrandbits(32))
                _Run(stage, class_, monkey, log, generator, say).through(pause, submissions)
            _look_for_leftovers(stage, log)
    outcome = audit(read(folder / "students.jsonl"))
    if not monkey.has_done_all:
        outcome.faults.append(f"never done: {', '.join(monkey.missing)}")
    return Result(seed, database, outcome, dict(monkey.done), time.monotonic() - begin, watch.seconds)


class _Run:
    """The phases of a run on its stage."""

    def __init__(
        self, stage: Stage, students: Sequence[Student], monkey: Monkey, log: Log, generator: random.Random,
        say: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._stage = stage
        self._students = students
        self._monkey = monkey
        self._log = log
        self._random = generator
        self._say = say
        self._staff = Staff(stage.settings, log)

    def through(self, pause: float, submissions: int) -> None:
        """From the first hand-in to the last look; at least so many submissions are answered."""
        for student in self._students:
            student.start()
        try:
            self._disturb(pause, submissions)
            self._say(f"left in peace after {sum(self._monkey.done.values())} acts")
            self._settle()
            for student in self._students:
                student.find_unanswered()
            self._settle()
            self._rerun_the_unlucky()
            self._settle()
            self._probe_quotas()
            self._settle()
        finally:
            for student in self._students:
                student.stop()
        self._read_everything()
        for student in self._students:
            student.close()
        self._staff.close()

    def _disturb(self, pause: float, submissions: int) -> None:
        """Act while anything is to be done; then hand in more, as long as an act has found no victim, or
        fewer were answered than there shall be.

        When nothing has become final for long, whatever was done, peace may show what is stuck.
        """
        left, final, idle = LAST_ACTS, 0, 0.0
        while left and idle < STUCK_SECONDS:
            if left < LAST_ACTS and self._monkey.has_done_all and self._count_answered() >= submissions:
                break
            waited = self._random.expovariate(1.0 / pause)
            self._wait(waited)
            before, final = final, self._count_final()
            idle = idle + waited if final <= before else 0.0
            if left < LAST_ACTS or self._is_nearly_done():
                left -= 1
                for student in self._students:
                    student.more.set()
            if left == LAST_ACTS or not self._monkey.has_done_all:
                self._monkey.act(only_missing=left < LAST_ACTS)
            for student in self._students:
                if student.failure is not None:
                    raise student.failure
        for student in self._students:
            student.enough.set()
        while any(student.is_handing_in for student in self._students):
            self._wait(TICK_SECONDS)

    def _count_answered(self) -> int:
        return sum(len(student.seen) for student in self._students)

    def _count_final(self) -> int:
        return sum(seen.state in FINAL for student in self._students for seen in list(student.seen.values()))

    def _is_nearly_done(self) -> bool:
        handed_in = all(student.finished.is_set() for student in self._students)
        seen = [seen for student in self._students for seen in list(student.seen.values())]
        return handed_in and sum(one.state not in FINAL for one in seen) <= NEARLY * len(seen)

    def _wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._stage.watch()
            self._staff.look()
            time.sleep(min(TICK_SECONDS, left))

    def _settle(self) -> None:
        """Until all is final that anybody knows of, or nothing has become final for long.

        What counts is time in which this process runs too: a machine that stands still is not stuck.
        """
        left, waited = self._unsettled(), 0.0
        while left and waited < STUCK_SECONDS:
            self._wait(4 * TICK_SECONDS)
            waited += 4 * TICK_SECONDS
            before, left = left, self._unsettled()
            if len(left) < len(before):
                waited = 0.0
        if left:
            self._say(f"not settled: {left}")

    def _unsettled(self) -> list[str]:
        every = [seen for student in self._students for seen in list(student.seen.values())]
        return [seen.id for seen in every if seen.state not in FINAL]

    def _rerun_the_unlucky(self) -> None:
        """Who lost all three attempts to us asks again, as the page of a grader error says."""
        for student in self._students:
            for seen in list(student.seen.values()):
                if seen.state == "grader_error" and seen.work.verdict != "grader_error":
                    seen.state = "asked"
                    if not student.rerun(seen):
                        self._log.write("rerun refused", id=seen.id)
                        seen.state = "grader_error"

    def _probe_quotas(self) -> None:
        """More at once than is left: exactly so many are taken."""
        for student in self._students:
            used = student.get(f"courses/{COURSE}/assignments/{FEW}/quota")["attempts_used"]
            number = max(0, FEW_LIMIT - used) + PROBES
            self._log.write("probing", student=student.name, number=number)
            student.probe([plan.probe(student.number, index) for index in range(number)])

    def _read_everything(self) -> None:
        """Each submission under its URL, the listings, quotas and boards; and the rows behind them."""
        for identity in self._monkey.hit:
            self._log.write("hit", id=identity)
        for student in self._students:
            for found in student.listing():
                keys = ("id", "assignment", "number")
                self._log.write("listed", student=student.name, **{key: found[key] for key in keys})
            for seen in list(student.seen.values()):
                self._log.write("read", id=seen.id, **student.read(seen.id))
            for name in (MANY, FEW):
                used = student.get(f"courses/{COURSE}/assignments/{name}/quota")["attempts_used"]
                self._log.write("quota", student=student.name, assignment=name, used=used)
        for name in (MANY, FEW):
            board = self._students[0].get(f"courses/{COURSE}/assignments/{name}/board")
            for entry in board["entries"]:
                fields = {key: entry[key] for key in ("submission", "fraction")}
                self._log.write("entry", assignment=name, student=entry["name"], **fields)
        self._read_rows()
        attempts = defaultdict(set)
        for line in witnessed(self._stage.witness):
            attempts[line["job"]["submission"]].add(line["job"]["attempt"])
        for identity, numbers in attempts.items():
            self._log.write("ran", id=identity, attempts=sorted(numbers))

    def _read_rows(self) -> None:
        database = Database(self._stage.settings.database)
        try:
            with database.read() as session:
                counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
                for key, query in (
                    ("scores", select(Score.submission_id).where(Score.current)),
                    ("reports", select(Report.submission_id).where(Report.current)),
                    ("reported", select(Attempt.submission_id).where(Attempt.state == AttemptState.REPORTED)),
                    ("open", select(Attempt.submission_id).where(Attempt.state.in_(OPEN))),
                ):
                    rows = query.subquery()
                    joined = select(Submission.public_id, func.count()).join(
                        rows, rows.c.submission_id == Submission.id
                    )
                    for identity, count in session.execute(joined.group_by(Submission.public_id)):
                        counts[identity][key] = count
                for identity in session.scalars(select(Submission.public_id)):
                    found = {key: counts[identity][key] for key in ("scores", "reports", "reported", "open")}
                    self._log.write("rows", id=identity, **found)
        finally:
            database.close()


def _look_for_leftovers(stage: Stage, log: Log) -> None:
    """After everything was stopped: no process of the run, no cgroup of its sandboxes."""
    makers = {(line["pid"], line["start"]) for line in witnessed(stage.witness)}
    for _ in range(LEFT_LOOKS):
        left = [f"process {pid}" for pid in processes(stage.folder)]
        left += [f"cgroup {group}" for group in groups(makers)]
        if not left:
            break
        time.sleep(LEFT_PAUSE_SECONDS)
    log.write("left", what=left)
