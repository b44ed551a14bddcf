"""`solmark-server` as an operator types it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from server import settings as all_settings
from server.accounts import service as accounts
from server.cli import app
from server.courses import service as courses
from server.db.session import Database
from server.grading import service as grading


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty machine: its database does not exist yet."""
    monkeypatch.setenv("SOLMARK_SERVER_HOME", str(tmp_path))
    monkeypatch.setenv("SOLMARK_ARGON2_MEMORY_KIB", "8")
    for name in ("SOLMARK_BROKER_URL", "SOLMARK_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(all_settings, "load", all_settings.load.__wrapped__)
    monkeypatch.setattr("server.cli.load", all_settings.load)
    return f"sqlite:///{tmp_path / 'solmark.db'}"


def output(*arguments: str, text: str | None = None, code: int = 0) -> str:
    result = CliRunner().invoke(app, arguments, input=text)
    assert result.exit_code == code, result.output
    return result.output.strip()


def test_an_empty_machine_gets_tables_an_administrator_and_a_node(url: str) -> None:
    output("migrate")
    login, _, password = output("create-admin", "ada", "--generate").partition(": ")
    assert login == "ada"
    output("create-admin", "grace", text="a password by pipe\n")
    assert "ada" in output("create-admin", "ada", "--generate", code=1)
    first, second = output("add-node", "node-1"), output("add-node", "node-1")
    database = Database(url)
    with database.begin() as session:
        chosen = all_settings.load()
        user = accounts.log_in(session, chosen, login="ada", password=password, address="")
        assert user.site_admin
        assert accounts.log_in(session, chosen, login="grace", password="a password by pipe", address="")
        # A node that is added again has lost its token: only the new one opens.
        assert grading.node_by_token(session, first) is None
        node = grading.node_by_token(session, second)
        assert node is not None
        assert node.name == "node-1"
    database.close()


def test_a_failure_is_a_sentence_and_an_exit_code(url: str) -> None:
    output("migrate")
    assert "SOLMARK_BROKER_URL" in output("tasks", code=2)
    assert "kernels/nothing" in output("publish", "kernels/nothing", "--course", "c", "--as", "a", code=1)
    assert url


def test_a_fresh_site_reaches_a_course_with_people(url: str) -> None:
    output("migrate")
    output("create-admin", "ada", "--generate")
    course = ("create-course", "systems", "--title", "Systems", "--title-zh", "系统", "--as", "ada")
    assert "user nobody" in output(*course[:-1], "nobody", code=1)
    assert output(*course, "--timezone", "Asia/Shanghai") == "systems created"
    assert "systems" in output(*course, code=1)
    here = ("--course", "systems", "--as", "ada")
    # All of them, or none.
    assert "user bob" in output("enrol", "ada", "bob", "--role", "ta", *here, code=1)
    passwords = output("enrol", "bob", "eve", "--create", *here).splitlines()
    assert [line.partition(": ")[0] for line in passwords] == ["bob", "eve"]
    assert output("enrol", "eve", "--role", "ta", *here) == "eve is ta of systems"
    output("enrol", "ada", "--course", "systems", "--as", "bob", code=1)
    assert output("scores", "--course", "systems").splitlines() == ["login,name,email,team", "bob,bob,,bob"]
    database = Database(url)
    with database.begin() as session:
        found = courses.get_course(session, "systems")
        assert (found.title_zh, found.timezone) == ("系统", "Asia/Shanghai")
        roles = {entry.user.login: entry.role.value for entry in courses.members(session, found)}
        assert roles == {"ada": "admin", "bob": "student", "eve": "ta"}
        _, _, password = passwords[0].partition(": ")
        user = accounts.log_in(session, all_settings.load(), login="bob", password=password, address="")
        assert not user.site_admin
    database.close()


def test_a_roster_enrols_everybody_or_nobody(url: str, tmp_path: Path) -> None:
    output("migrate")
    output("create-admin", "ada", "--generate")
    output("create-course", "systems", "--title", "Systems", "--as", "ada")
    roster = tmp_path / "roster.csv"
    enrol = ("enrol", "--roster", str(roster), "--create", "--course", "systems", "--as", "ada")

    def write(*lines: str) -> None:
        roster.write_text("\r\n".join(lines) + "\r\n", "utf-8-sig")

    write("Name,Mail", "Bob,b@example.org")
    assert "`login` among them" in output(*enrol, code=1)
    write("login,role", "bob,student", "eve,boss", ",student", "BOB,ta", "")
    faults = output(*enrol, code=1)
    for fault in ("line 3: role 'boss'", "line 4: no login", "line 5: bob again"):
        assert fault in faults
    write("login", "bob", "no such login")
    assert "'no such login' is not" in output(*enrol, code=1)
    write("Name, Login, Email, Role, Matrikel", '"Müller, 王", bob, b@example.org,, 7', "Eve,EVE,,ta,8")
    lines = output(*enrol).splitlines()
    assert [line.partition(": ")[0] for line in lines] == ["bob", "eve"]
    assert output(*enrol).splitlines() == ["bob is student of systems", "eve is ta of systems"]
    database = Database(url)
    with database.begin() as session:
        members = courses.members(session, courses.get_course(session, "systems"))
        found = {(entry.user.login, entry.user.name, entry.user.email, entry.role.value) for entry in members}
        assert {("bob", "Müller, 王", "b@example.org", "student"), ("eve", "Eve", None, "ta")} <= found
        password = lines[0].partition(": ")[2]
        assert accounts.log_in(session, all_settings.load(), login="bob", password=password, address="")
    database.close()
    assert 'bob,"Müller, 王",b@example.org,bob' in output("scores", "--course", "systems")
    assert "name the people" in output("enrol", "--course", "systems", "--as", "ada", code=2)
