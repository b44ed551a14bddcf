"""The commands that talk to a server: against a real one, and against servers that misbehave."""

import importlib.util
import json
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from grader.cli.client import VERSION_HEADER
from grader.cli.config import config_file
from grader.cli.main import app

SEED = Path(__file__).parents[2] / "server" / "web" / "seed.py"
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def seed() -> ModuleType:
    """Tests have no packages: what the pages' tests share is loaded by its path."""
    if "site_seed" not in sys.modules:
        spec = importlib.util.spec_from_file_location("site_seed", SEED)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["site_seed"] = module
        spec.loader.exec_module(module)
    return sys.modules["site_seed"]


@pytest.fixture(scope="module")
def packed(seed: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return seed.pack(tmp_path_factory.mktemp("assignment") / "double")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def site(
    request: pytest.FixtureRequest,
    seed: ModuleType,
    packed: Any,
    new_database: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Any]:
    """The same site on each database."""
    found = seed.build(tmp_path_factory.mktemp("site"), packed, new_database(request.param))
    yield found
    found.database.close()


@pytest.fixture(scope="module")
def address(site: Any, seed: ModuleType) -> Iterator[str]:
    with seed.serve(site.app) as found:
        yield found


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `solmark` as somebody whose configuration is empty."""
    for name in ("SOLMARK_SERVER", "SOLMARK_TOKEN", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("SOLMARK_LANG", "en")
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words, **options: CliRunner().invoke(app, [str(word) for word in words], **options)


@pytest.fixture
def ada(run: Run, address: str, seed: ModuleType) -> Run:
    """The same, logged in as ada."""
    result = run("login", "--server", address, "--user", "ada", input=f"{seed.PASSWORD}\n")
    assert result.exit_code == 0, result.output
    return run


@pytest.fixture
def solution(tmp_path: Path, seed: ModuleType) -> Path:
    path = tmp_path / "solution.py"
    path.write_text(seed.SOLUTION)
    return path


class TestLogin:
    def test_the_token_is_kept_for_its_owner_only(self, ada: Run) -> None:
        assert config_file().stat().st_mode & 0o777 == 0o600
        assert json.loads(config_file().read_text())["token"].startswith("smk_")
        assert ada("status").exit_code == 0

    def test_a_wrong_password_keeps_nothing(self, run: Run, address: str) -> None:
        result = run("login", "--server", address, "--user", "ada", input="wrong\n")
        assert (result.exit_code, config_file().exists()) == (2, False)
        assert "Name or password is wrong." in result.stderr

    def test_a_token_is_taken_from_standard_input(self, ada: Run, address: str) -> None:
        token = json.loads(config_file().read_text())["token"]
        config_file().unlink()
        assert ada("login", "--server", address, "--token", input=f"{token}\n").exit_code == 0
        refused = ada("login", "--server", address, "--token", input="smk_none\n")
        assert (refused.exit_code, "refused the API token" in refused.stderr) == (2, True)

    @pytest.mark.parametrize(
        ("words", "sentence"),
        [((), "no terminal"), (("--user", "ada"), "Password: standard input"), (("--token",), "API token: ")],
    )
    def test_without_a_terminal_it_says_what_to_give(
        self, run: Run, address: str, words: tuple[str, ...], sentence: str
    ) -> None:
        result = run("login", "--server", address, *words, input="")
        assert (result.exit_code, result.stdout) == (2, "")
        assert sentence in result.stderr
        assert "Traceback" not in result.stderr

    def test_the_token_goes_to_no_other_server(
        self, ada: Run, flaky: "Flaky", monkeypatch: pytest.MonkeyPatch
    ) -> None:
        flaky.answers["/api/v1/courses"] = {"items": []}
        monkeypatch.setenv("SOLMARK_SERVER", flaky.address)
        ada("status")
        assert [headers.get("Authorization") for _, headers in flaky.asked] == [None]

    @pytest.mark.parametrize("server", ["example.org", "ftp://example.org", "http://"])
    def test_an_address_that_is_none(self, run: Run, server: str) -> None:
        assert run("login", "--server", server, "--user", "x", input="y\n").exit_code == 2

    def test_nobody_is_told_to_log_in(self, run: Run, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SOLMARK_SERVER", address)
        monkeypatch.setenv("SOLMARK_LANG", "zh")
        result = run("status")
        assert result.exit_code == 2
        assert f"solmark login --server {address}" in result.stderr
        assert "登录" in result.stderr


class TestSubmit:
    def test_it_is_followed_to_its_verdict(self, ada: Run, solution: Path, site: Any, seed: Any) -> None:
        for kind, code in (("accepted", 0), ("wrong", 1)):
            result = _finishing(
                site, seed, kind, lambda: ada("submit", seed.ASSIGNMENT, solution, "--follow")
            )
            assert result.exit_code == code, result.output
            assert ("61.0%" in result.stdout) == (kind == "accepted")
            assert ("Element 3 is not doubled." in result.stdout) == (kind == "wrong")

    def test_json_is_all_that_standard_output_has(
        self, ada: Run, solution: Path, site: Any, seed: Any
    ) -> None:
        result = ada("submit", seed.ASSIGNMENT, solution, "--mode", "test", "--json")
        assert result.exit_code == 0
        assert json.loads(result.stdout)["state"] == "queued"
        follow = ("submit", seed.ASSIGNMENT, solution, "--follow", "--json")
        result = _finishing(site, seed, "wrong", lambda: ada(*follow))
        found = json.loads(result.stdout)
        assert (result.exit_code, found["report"]["verdict"]) == (1, "wrong_answer")
        assert found["report"]["staff"] is None

    def test_what_cannot_be_handed_in_is_not_sent(self, ada: Run, tmp_path: Path, seed: Any) -> None:
        large = tmp_path / "large.py"
        large.write_bytes(b"#" * ((1 << 20) + 1))
        for files, sentence in (
            ([tmp_path / "none.py"], "not a file"),
            ([tmp_path], "not a file"),
            ([large], "at most 1048576"),
            ([large, tmp_path / "sub" / "large.py"], "not a file"),
        ):
            result = ada("submit", seed.ASSIGNMENT, *files)
            assert result.exit_code == 2
            assert sentence in result.stderr

    def test_an_archive_is_sent_as_its_files(self, ada: Run, tmp_path: Path, seed: Any) -> None:
        folder = tmp_path / "homework"
        folder.mkdir()
        (folder / "solution.py").write_text("def solve(x, y):\n    y.copy_(2 * x)\n")
        archive = shutil.make_archive(str(tmp_path / "work"), "gztar", tmp_path, "homework")
        result = ada("submit", seed.ASSIGNMENT, archive, "--mode", "test", "--json")
        assert result.exit_code == 0, result.output
        assert [file["name"] for file in json.loads(result.stdout)["files"]] == ["solution.py"]
        (folder / "solution.py").unlink()
        (folder / "solution.py").symlink_to("/etc/passwd")
        linked = shutil.make_archive(str(tmp_path / "linked"), "tar", tmp_path, "homework")
        refused = ada("submit", seed.ASSIGNMENT, linked)
        assert refused.exit_code == 2
        assert "homework/solution.py, which is a link" in refused.stderr

    def test_what_the_server_refuses_is_said(self, ada: Run, solution: Path, seed: Any) -> None:
        for words, sentence in (
            (("kernels/none", solution), "no such"),
            ((seed.ASSIGNMENT, solution, "--language", "triton"), "triton is not taken here"),
            ((seed.ASSIGNMENT, solution, "--course", "other"), "no such"),
        ):
            result = ada("submit", *words)
            assert result.exit_code == 2, result.output
            assert sentence in result.stderr


class TestStatus:
    def test_one_submission_and_the_latest(self, ada: Run, site: Any) -> None:
        result = ada("status", site.submissions["wrong"])
        assert result.exit_code == 1
        assert "y[3]: expected 6.0, found 3.0" in result.stdout
        assert site.submissions["wrong"] in ada("status").stdout
        assert len(json.loads(ada("status", "--json").stdout)) >= 3
        assert ada("status", site.submissions["queued"]).exit_code == 0
        assert ada("status", site.submissions["second"]).exit_code == 2, "another team's"


def test_the_version_is_told(run: Run) -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"solmark {version('solmark')}\n")


def test_the_board(ada: Run, seed: Any) -> None:
    result = ada("board", seed.ASSIGNMENT)
    assert result.exit_code == 0
    assert "=1" in result.stdout
    assert "61.0%" in result.stdout
    assert json.loads(ada("board", seed.ASSIGNMENT, "--json").stdout)["entries"][0]["rank"] == 1


def test_a_board_of_many_pages_is_read_to_its_end(
    ada: Run, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = json.loads(ada("board", seed.ASSIGNMENT, "--json").stdout)
    monkeypatch.setattr("grader.cli.client.PAGE", 1)
    assert json.loads(ada("board", seed.ASSIGNMENT, "--json").stdout) == whole
    assert [entry["name"] for entry in whole["entries"]] == ["ada", "grace"]


def _finishing(site: Any, seed: Any, kind: str, command: Callable[[], Result]) -> Result:
    """Run a command that submits and follows; a worker reports as soon as the submission is there."""
    from server.accounts import service as accounts
    from server.courses import service as courses
    from server.submissions import service as submissions

    def latest() -> str:
        with site.database.read() as session:
            user, course = accounts.find_user(session, "ada"), courses.get_course(session, "demo")
            assert user is not None
            return submissions.listing(session, course=course, user=user, limit=1)[0].public_id

    before = latest()
    found: list[bool] = []

    def report() -> None:
        while not found:
            if (public_id := latest()) != before:
                seed.finish(site, public_id, kind)
                return
            stop.wait(0.05)

    stop = threading.Event()
    thread = threading.Thread(target=report)
    thread.start()
    result = command()
    found.append(True)
    thread.join()
    return result


class Flaky:
    """A server that answers what a test says: JSON by path, or the next script of an event stream."""

    def __init__(self) -> None:
        self.version: str | None = version("solmark")
        self.answers: dict[str, Any] = {}
        self.streams: list[bytes] = []
        self.asked: list[tuple[str, dict[str, str]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                outer.asked.append((path, dict(self.headers.items())))
                if path.endswith("/events"):
                    self._send(200, outer.streams.pop(0), "text/event-stream")
                elif path in outer.answers:
                    answer = outer.answers[path]
                    status = 503 if "error" in answer else 200
                    self._send(status, json.dumps(answer).encode(), "application/json")
                else:
                    self._send(404, b"<p>Hello</p>", "text/html")

            def _send(self, status: int, body: bytes, kind: str) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                if outer.version:
                    self.send_header(VERSION_HEADER, outer.version)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def flaky(run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Flaky]:
    found = Flaky()
    monkeypatch.setenv("SOLMARK_SERVER", found.address)
    yield found
    found.close()


_MAJOR, _MINOR, _PATCH = version("solmark").split(".")
REPAIRED = f"{_MAJOR}.{_MINOR}.{int(_PATCH) + 1}"
DONE = {
    "id": "abc", "assignment": "kernels/double", "number": 1, "state": "cancelled", "verdict": None,
    "message": None, "fraction": None, "points": None, "created": "2026-11-30T00:00:00Z",
}  # fmt: skip


def _progress(identity: str, text: str) -> bytes:
    event = {"phase": "build", "case": None, "done": None, "total": None, "text": text}
    return f"id: {identity}\nevent: progress\ndata: {json.dumps(event)}\n\n".encode()


class TestQueue:
    @pytest.mark.parametrize(
        ("ahead", "seconds", "reason", "sentence"),
        [
            (3, 130.0, None, "in the queue · 3 ahead · about 2 min to wait"),
            (0, 12.0, None, "in the queue · next in turn · about 10 s to wait"),
            (1, None, "no_worker", "in the queue · 1 ahead · no machine of the class cpu is up"),
            (0, None, "no_worker", "in the queue · no machine of the class cpu is up"),
            (0, None, "quarantined", "in the queue · this assignment is not graded until staff let it go on"),
        ],
    )
    def test_the_place_is_said_when_it_changes(
        self, run: Run, flaky: Flaky, ahead: int, seconds: float | None, reason: str | None, sentence: str
    ) -> None:
        queue = {"ahead": ahead, "expected_seconds": seconds, "reason": reason}
        flaky.answers["/api/v1/submissions/abc"] = {**DONE, "hardware": "cpu", "queue": queue}
        flaky.streams = [
            (
                b'event: state\ndata: {"state": "queued"}\n\n: alive\n\n: alive\n\n'
                b'event: state\ndata: {"state": "running"}\n\nevent: final\ndata: {}\n\n'
            )
        ]
        result = run("status", "abc", "--follow")
        assert result.stderr.splitlines() == [sentence, "being graded"]
        asked = [path for path, _ in flaky.asked if path == "/api/v1/submissions/abc"]
        assert len(asked) == 4, "for the state, at each sign of life, and at the end"


@pytest.mark.parametrize(("columns", "whole"), [("80", False), ("120", True)])
def test_a_narrow_terminal_loses_columns_before_names(
    ada: Run, seed: Any, site: Any, columns: str, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    shown, listed = ada("board", seed.ASSIGNMENT).stdout, ada("status").stdout
    assert ("submitted" in shown, "submitted" in listed) == (whole, whole)
    assert "61.0%" in shown
    assert seed.ASSIGNMENT in listed
    assert site.submissions["wrong"] in listed


def test_moments_are_of_this_machines_clock(run: Run, flaky: Flaky, monkeypatch: pytest.MonkeyPatch) -> None:
    flaky.answers["/api/v1/courses/c/submissions"] = {"items": [DONE]}
    try:
        with monkeypatch.context() as here:
            here.setenv("TZ", "Asia/Shanghai")
            time.tzset()
            assert "11-30 08:00" in run("status", "--course", "c").stdout
    finally:
        time.tzset()


class TestLostConnection:
    def test_following_resumes_and_ends_with_what_the_database_says(self, run: Run, flaky: Flaky) -> None:
        flaky.answers["/api/v1/submissions/abc"] = DONE
        flaky.streams = [
            b": waiting\n\n" + _progress("5-0", "one") + b"id: 6-0\nevent: progress\nda",
            b"event: progress\ndata: {half",
            _progress("7-0", "two") + b"event: final\ndata: {}\n\n",
        ]
        result = run("status", "abc", "--follow")
        assert result.exit_code == 1, result.output
        assert result.stderr.count("build · one") == 1
        assert "build · two" in result.stderr
        resumed = [headers.get("Last-Event-ID") for path, headers in flaky.asked if path.endswith("/events")]
        assert resumed == [None, "5-0", "5-0"]

    def test_phases_have_names_in_both_languages(
        self, run: Run, flaky: Flaky, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SOLMARK_LANG", "zh")
        flaky.answers["/api/v1/submissions/abc"] = DONE
        newer = _progress("6-0", "two").replace(b'"build"', b'"of_a_newer_server"')
        flaky.streams = [_progress("5-0", "one") + newer + b"event: final\ndata: {}\n\n"]
        said = run("status", "abc", "--follow").stderr
        assert "构建 · one" in said
        assert "of_a_newer_server · two" in said

    def test_a_submission_that_is_not_there_ends_it(self, run: Run, address: str, ada: Run) -> None:
        assert ada("status", "none", "--follow").exit_code == 2


class TestInterrupted:
    @pytest.mark.parametrize(("method", "words"), [("follow", ("abc",)), ("get", ())])
    def test_ctrl_c_says_what_goes_on(
        self, run: Run, flaky: Flaky, monkeypatch: pytest.MonkeyPatch, method: str, words: tuple[str, ...]
    ) -> None:
        def interrupt(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(f"grader.cli.client.Client.{method}", interrupt)
        result = run("status", *words, "--follow")
        assert (result.exit_code, flaky.asked) == (130, [])
        assert ("the submission goes on" in result.stderr) is (method == "follow")


class TestServers:
    @pytest.mark.parametrize(
        ("theirs", "sentence"),
        [
            ("99.0.0", 'pip install "solmark==99.0.0". Until then, answers may be misread.'),
            ("0.0.9", "ask the staff to upgrade the server. Until then"),
            (REPAIRED, f'pip install "solmark=={REPAIRED}".\n'),
        ],
    )
    def test_another_version_is_said_once(self, run: Run, flaky: Flaky, theirs: str, sentence: str) -> None:
        flaky.version = theirs
        flaky.answers["/api/v1/submissions/abc"] = DONE
        result = run("status", "abc", "--json")
        assert json.loads(result.stdout)["id"] == "abc"
        assert result.stderr.count(sentence) == 1

    def test_a_server_that_is_no_solmark(self, run: Run, flaky: Flaky) -> None:
        flaky.version = None
        flaky.answers["/api/v1/submissions/abc"] = {"hello": 1}
        for submission in ("abc", "other"):
            result = run("status", submission)
            assert result.exit_code == 2
            assert "does not answer like a Solmark server" in result.stderr

    @pytest.mark.parametrize(
        "answer", [[], [1], "text", 7, {"id": "abc"}, {**DONE, "state": None, "message": []}]
    )
    def test_an_answer_of_another_shape_is_said_in_words(self, run: Run, flaky: Flaky, answer: Any) -> None:
        flaky.answers["/api/v1/submissions/abc"] = answer
        flaky.streams = [b"event: final\ndata: " + json.dumps(answer).encode() + b"\n\n"]
        for words in (("abc",), ("abc", "--follow")):
            result = run("status", *words)
            assert result.exit_code in (0, 2, 3), (answer, result.exception)
            assert result.exception is None or isinstance(result.exception, SystemExit), result.exception

    @pytest.mark.parametrize("value", [None, 10**400, "text", [{}]], ids=["null", "number", "text", "list"])
    def test_a_value_of_another_type_is_said_in_words(self, run: Run, flaky: Flaky, value: Any) -> None:
        """Whatever a key holds, with a list and an object for each that has keys of its own."""
        one: dict[str, Any] = DONE | {
            "hardware": "cpu", "message": {"en": "Yes.", "zh": "是。"},
            "queue": {"ahead": 1, "expected_seconds": 3.0, "reason": None},
        }  # fmt: skip
        entry = {
            "rank": 1, "name": "ada", "fraction": 0.5, "low": 0.4, "high": 0.6, "hardware": "cpu",
            "hardware_name": "A", "submitted": "2026-11-30T00:00:00Z",
        }  # fmt: skip
        board = {"hardware": "cpu", "entries": [entry], "next": None}
        course = "/api/v1/courses/c"
        progress = {"phase": "build", "case": None, "done": 1, "total": 2, "text": ""}
        changes: list[tuple[str, Any, tuple[str, ...]]] = [
            *(("/api/v1/submissions/abc", {**one, key: value}, ("status", "abc")) for key in one),
            *(("/api/v1/submissions/abc", {**one, "message": {**one["message"], key: value}},
               ("status", "abc")) for key in one["message"]),
            *((f"{course}/submissions", {"items": [{**one, key: value}]}, ("status", "--course", "c"))
              for key in one),
            (f"{course}/submissions", {"items": value}, ("status", "--course", "c")),
            (f"{course}/submissions", {"items": [value]}, ("status", "--course", "c")),
            *((f"{course}/assignments/a/b/board", {**board, key: value}, ("board", "a/b", "--course", "c"))
              for key in board),
            *((f"{course}/assignments/a/b/board", {**board, "entries": [{**entry, key: value}]},
               ("board", "a/b", "--course", "c")) for key in entry),
            *(("/api/v1/submissions/abc", {**one, "state": "queued", "queue": {**one["queue"], key: value}},
               ("status", "abc", "--follow")) for key in one["queue"]),
            *(("progress", {**progress, key: value}, ("status", "abc", "--follow")) for key in progress),
            ("state", {"state": value}, ("status", "abc", "--follow")),
            ("/api/v1/courses", {"items": value}, ("status",)),
            ("/api/v1/courses", {"items": [{"slug": value}]}, ("status",)),
        ]  # fmt: skip
        for path, answer, words in changes:
            flaky.answers = {"/api/v1/submissions/abc": one}
            state: Any = {"state": "queued"}
            if path.startswith("/"):
                flaky.answers[path] = answer
            else:
                state = answer
            kind = "progress" if path == "progress" else "state"
            events = f"event: {kind}\ndata: {json.dumps(state)}\n\nevent: final\ndata: {{}}\n\n"
            flaky.streams = [events.encode()]
            result = run(*words)
            assert isinstance(result.exception, SystemExit | type(None)), (path, answer, result.exception)
            assert result.exit_code in (0, 1, 2, 3), (path, answer)

    def test_no_text_of_a_server_steers_the_terminal(self, run: Run, flaky: Flaky) -> None:
        evil = "\x1b]0;title\x07\x1b[2Jred\x9b1m\u202e\x00"
        flaky.answers["/api/v1/submissions/abc"] = DONE | {
            "assignment": evil, "message": {"code": "x", "en": evil, "zh": evil},
        }  # fmt: skip
        flaky.answers["/api/v1/submissions/other"] = {"error": {"code": "x", "message": evil}}
        for submission in ("abc", "other"):
            result = run("status", submission)
            shown = result.stdout + result.stderr
            assert "red" in shown
            assert not set(shown) & set("\x1b\x07\x9b\u202e\x00"), shown

    def test_a_server_that_is_away_is_not_the_students_fault(
        self, run: Run, flaky: Flaky, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        flaky.answers["/api/v1/submissions/abc"] = {"error": {"code": "unavailable", "message": "Not now."}}
        result = run("status", "abc")
        assert (result.exit_code, "Not now." in result.stderr) == (3, True)
        monkeypatch.setenv("SOLMARK_SERVER", "http://127.0.0.1:9")
        result = run("status", "abc")
        assert (result.exit_code, "does not answer" in result.stderr) == (3, True)
        assert "solmark login" not in result.stderr, "somebody named this one"
        monkeypatch.setattr("grader.cli.client.DEFAULT_SERVER", "http://127.0.0.1:9")
        assert "solmark login --server ADDRESS" in run("status", "abc").stderr
