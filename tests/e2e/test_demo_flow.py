"""The demo's parts, run as it runs them, with the real judge: a site, a course, students over HTTP."""

import dataclasses
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from grader.contract import Mode, Verdict
from server import publishing, site
from server.db.migrate import upgrade
from server.db.session import Database
from server.demo.course import ADMIN, COURSE, seed
from server.demo.entrants import Entry, HeaderError, entries
from server.demo.student import Student, Submitted, board
from server.embedded import sole_owner
from server.settings import Settings

ROOT = Path(__file__).parents[2]
ASSIGNMENT = "kernels/add-rmsnorm"
CHOSEN = ("solution.py", "adds_into_x.py", "assumes_contiguous_rows.cpp")
WAIT_SECONDS = 150.0


def chosen() -> list[Entry]:
    found = [entry for entry in entries(ROOT / "reference", [ASSIGNMENT]) if entry.path.name in CHOSEN]
    assert len(found) == len(CHOSEN)
    return found


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def settings(
    request: pytest.FixtureRequest,
    new_database: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Settings:
    """A site on each database."""
    return Settings(
        _env_file=None, server_home=tmp_path_factory.mktemp("demo"), database_url=new_database(request.param),
        argon2_memory_kib=8, argon2_time=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def passwords(settings: Settings) -> dict[str, str]:
    """A course on an empty database, seeded twice as a second `make demo` would."""
    upgrade(settings.database)  # Nothing is left to do, as at a second start.
    database = Database(settings.database)
    students = [entry.student for entry in chosen()]
    try:
        first = seed(database, settings, students)
        assert seed(database, settings, students) == first
        folder = str(ROOT / "assignments" / ASSIGNMENT)
        assert publishing.publish(database, settings, COURSE, folder, by=ADMIN).changed
        assert not publishing.publish(database, settings, COURSE, folder, by=ADMIN).changed
    finally:
        database.close()
    return dict(first)


@pytest.fixture(scope="module")
def running(settings: Settings, passwords: dict[str, str]) -> Iterator[site.Site]:
    assert passwords
    with pytest.MonkeyPatch.context() as patch, sole_owner(settings.server_home):
        patch.setenv("SOLMARK_HOME", str(settings.server_home))  # The worker's files, too, end with the test.
        with site.running(settings, host="127.0.0.1", port=None) as found:
            yield found


@pytest.mark.timeout(300)
def test_solutions_get_the_verdicts_that_they_name(running: site.Site, passwords: dict[str, str]) -> None:
    submitted: list[Submitted] = []
    for entry in chosen():
        with Student(running.url, entry.student, passwords[entry.student]) as student:
            submitted.append(student.submit(entry, Mode.TEST))
            deadline = time.monotonic() + WAIT_SECONDS
            while not submitted[-1].final:
                assert time.monotonic() < deadline, running.supervisor.tail("worker")
                time.sleep(0.2)
                running.supervisor.watch()
                submitted[-1].look()
            assert submitted[-1].as_expected, submitted[-1].found
    assert [one.found["verdict"] for one in submitted] == [entry.expected.value for entry in chosen()]
    assert {one.found["state"] for one in submitted} == {"done"}
    # Nothing was timed, so that nobody stands on the board, which anybody may see.
    assert board(running.url, ASSIGNMENT)["entries"] == []
    assert httpx.get(f"{running.url}/healthz").is_success


def test_the_passwords_are_readable_by_their_owner_alone(
    settings: Settings, passwords: dict[str, str]
) -> None:
    file = settings.server_home / "demo.json"
    assert file.stat().st_mode & 0o077 == 0
    assert len(set(passwords.values())) == len(passwords)


def test_a_solution_must_name_its_verdict(tmp_path: Path) -> None:
    folder = tmp_path / "track" / "slug"
    folder.mkdir(parents=True)
    (folder / "solution.py").write_text("# solmark: verdict=accepted\n")
    (found,) = entries(tmp_path, ["track/slug"])
    assert found.expected is Verdict.ACCEPTED
    (folder / "naive.py").write_text("import torch\n" * 20 + "# solmark: verdict=accepted\n")
    with pytest.raises(HeaderError, match=r"naive\.py"):
        entries(tmp_path, ["track/slug"])


@pytest.mark.parametrize(
    ("expected", "verdict", "tests", "hidden", "right"),
    [
        ("accepted", "accepted", [], None, True),
        ("accepted", "wrong_answer", [], None, False),
        ("accepted", "unstable_timing", ["accepted", None], True, True),
        ("accepted", "unstable_timing", ["accepted"], False, False),
        ("accepted", "unstable_timing", ["accepted", "wrong_answer"], True, False),
        ("accepted", "unstable_timing", [None], None, False),
        ("wrong_answer", "unstable_timing", ["accepted"], True, False),
        ("wrong_answer", "wrong_answer", [], None, True),
        ("wrong_answer", "runtime_error", [], None, False),
        ("wrong_answer", "overlap", [], None, False),
        ("wrong_answer", "grader_error", [], None, False),
    ],
)
def test_time_alone_never_decides_whether_a_verdict_is_as_expected(
    expected: str, verdict: str, tests: list[str | None], hidden: bool | None, right: bool
) -> None:
    report = {"tests": [{"verdict": test} for test in tests], "hidden": {"passed": hidden}}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=report))
    entry = dataclasses.replace(chosen()[0], expected=Verdict(expected))
    with httpx.Client(transport=transport, base_url="http://server/") as client:
        submitted = Submitted(client, entry, {"id": "x", "final": False, "verdict": None})
        submitted.learn({"id": "x", "final": False, "verdict": None})
        assert not submitted.as_expected
        submitted.learn({"id": "x", "final": True, "verdict": verdict})
        assert submitted.as_expected is right
