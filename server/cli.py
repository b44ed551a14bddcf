"""`solmark-server`: everything an operator starts or does once."""

import gc
import getpass
import secrets
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from sqlalchemy.orm import Session

from grader.assignment import AssignmentError
from server.db.models import User
from server.db.models.course import Role
from server.db.session import Database
from server.errors import DomainError, NotFound
from server.settings import Settings, load

if TYPE_CHECKING:
    from server.backup import Contents

app = typer.Typer(
    name="solmark-server",
    help="Run and look after a Solmark server.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)
CourseOption = Annotated[str, typer.Option("--course", help="The course's short name.")]


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(help="Port; 8000, or another if that is taken.")] = None,
    processes: Annotated[int, typer.Option(min=1, help="Web server processes.")] = 1,
) -> None:
    """Serve the site; without SOLMARK_BROKER_URL with a broker, tasks and a worker of its own."""
    settings = load()
    if settings.broker_url:
        import uvicorn

        uvicorn.run(
            "server.cli:web",
            factory=True,
            host=host,
            port=port or 8000,
            workers=processes,
            log_config=None,
            timeout_graceful_shutdown=5,
            server_header=False,
        )
        return
    from server import logging, site
    from server.embedded import sole_owner

    logging.configure(settings)
    settings = site.absolute_home(settings)
    with _sentences(), _ended() as ended, sole_owner(settings.server_home):
        _migrate(settings)
        given = settings.public_url if "public_url" in settings.model_fields_set else None
        with site.running(settings, host=host, port=port, public_url=given) as running:
            typer.echo(f"Solmark at {running.url} (Ctrl-C to stop)")
            running.wait(ended)


@app.command()
def tasks(
    beat: Annotated[
        bool, typer.Option("--beat", help="Keep the schedule too (in one process only).")
    ] = False,
    name: Annotated[str, typer.Option(help="Name of this process, unique on its broker.")] = "server",
) -> None:
    """Work on the server's queue: store Reports, dispatch, sweep."""
    from server import logging
    from server.tasks.app import run

    settings = _with_broker()
    logging.configure(settings)
    run(settings, beat=beat, name=name)


@app.command()
def beat() -> None:
    """Keep the schedule of sweeps, beside `tasks` processes without --beat."""
    from server import logging
    from server.tasks.app import run_beat

    settings = _with_broker()
    logging.configure(settings)
    run_beat(settings)


@app.command()
def migrate() -> None:
    """Bring the database to this version's tables."""
    _migrate(load())


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="File to make; it must not exist.")],
) -> None:
    """Save every row and every file in one archive. The server may go on meanwhile."""
    from server.backup import backup as make

    with _sentences():
        contents = make(load(), file)
    _say_contents("saved", contents)
    if contents.missing:
        typer.echo(f"left out, because they are missing or damaged: {', '.join(contents.missing)}", err=True)
        raise typer.Exit(1)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="Archive that `backup` made.", exists=True, dir_okay=False)],
) -> None:
    """Fill an empty database, of either kind, and the folder of files from an archive."""
    from server.backup import restore as fill

    with _sentences():
        contents = fill(load(), file)
    _say_contents("restored", contents)


@app.command()
def prune(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
) -> None:
    """Remove old logs, and files that nothing refers to, as the settings SOLMARK_PRUNE_* say."""
    from server.prune import prune as remove

    with _sentences():
        pruned = remove(load(), dry_run=dry_run)
    verb = "would remove" if dry_run else "removed"
    typer.echo(
        f"{verb} {pruned.blobs} files ({pruned.blob_bytes} bytes), {pruned.uploaded_logs} uploaded logs, "
        f"{pruned.log_bytes} bytes of {pruned.log_files} log files, {pruned.sessions} expired sessions, "
        f"{pruned.login_failures} failed logins"
    )


@app.command("create-admin")
def create_admin(
    login: Annotated[str, typer.Argument(help="Login of the new administrator.")],
    name: Annotated[str, typer.Option(help="Name as others see it.")] = "",
    generate: Annotated[bool, typer.Option("--generate", help="Make a password and print it.")] = False,
) -> None:
    """Create an administrator of the site; the password is asked for, or read from standard input."""
    from server.accounts import service as accounts

    settings = load()
    if generate:
        password = secrets.token_urlsafe(12)
    elif sys.stdin.isatty():
        password = getpass.getpass("Password: ")
        if getpass.getpass("Again: ") != password:
            raise typer.BadParameter("the two passwords differ")
    else:
        password = sys.stdin.readline().rstrip("\n")
    with _sentences(), _database(settings) as database, database.begin() as session:
        accounts.create_user(
            session, settings, login=login, name=name or login, password=password, site_admin=True
        )
    typer.echo(f"{login}: {password}" if generate else f"{login} created")


@app.command("create-course")
def create_course(
    course: Annotated[str, typer.Argument(help="The course's short name, for instance systems-2026.")],
    title: Annotated[str, typer.Option(help="Title in English.")],
    by: Annotated[str, typer.Option("--as", help="Login of who becomes its admin.")],
    title_zh: Annotated[str, typer.Option("--title-zh", help="Title in Chinese; else the English one.")] = "",
    timezone: Annotated[str, typer.Option(help="Time zone of its days, for instance Asia/Shanghai.")] = "UTC",
    public_boards: Annotated[bool, typer.Option("--public-boards", help="Boards open to everybody.")] = False,
) -> None:
    """Create a course."""
    from server.courses import service as courses

    with _sentences(), _database(load()) as database, database.begin() as session:
        courses.create_course(
            session, slug=course, title_en=title, title_zh=title_zh or title, timezone=timezone,
            public_boards=public_boards, by=_user(session, by),
        )  # fmt: skip
    typer.echo(f"{course} created")


@app.command()
def enrol(
    course: CourseOption,
    by: Annotated[str, typer.Option("--as", help="Login of the admin who enrols them.")],
    logins: Annotated[list[str] | None, typer.Argument(help="Logins of the people.")] = None,
    roster: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="CSV: login, and name, email, role as there are."),
    ] = None,
    role: Annotated[Role, typer.Option(help="What they are in the course.")] = Role.STUDENT,
    create: Annotated[
        bool, typer.Option("--create", help="Make missing accounts and print their passwords.")
    ] = False,
) -> None:
    """Make people members of a course, or change their role in it: all of them, or none."""
    from server.accounts import service as accounts
    from server.courses import roster as rosters
    from server.courses import service as courses

    settings = load()
    with _sentences(), _database(settings) as database:
        people = [rosters.Entry(login, login, None, role) for login in logins or ()]
        if roster is not None:
            people += rosters.read(roster.read_text("utf-8-sig", errors="replace"), role)
        if not people:
            raise typer.BadParameter("name the people, or give a --roster")
        with database.read() as session:
            missing = [one.login for one in people if accounts.find_user(session, one.login) is None]
        # Hashing takes a tenth of a second each: others write meanwhile.
        passwords = {login: secrets.token_urlsafe(12) for login in missing} if create else {}
        hashed = {login: accounts.hashed_password(settings, text) for login, text in passwords.items()}
        lines = []
        with database.begin() as session:
            admin = _user(session, by)
            found = courses.staff_course(session, course, admin, least=Role.ADMIN)
            for one in people:
                user = accounts.find_user(session, one.login)
                if user is None and one.login in hashed:
                    user = accounts.create_user(
                        session, settings, login=one.login, name=one.name, email=one.email,
                        password=hashed[one.login],
                    )  # fmt: skip
                    lines.append(f"{one.login}: {passwords[one.login]}")
                else:
                    lines.append(f"{one.login} is {one.role.value} of {course}")
                courses.enrol(session, found, user or _user(session, one.login), one.role, by=admin)
    typer.echo("\n".join(lines))


@app.command()
def scores(course: CourseOption) -> None:
    """Print everybody's points of every assignment as CSV."""
    from server.courses import service as courses
    from server.gradebook import service as gradebooks

    with _sentences(), _database(load()) as database, database.read() as session:
        book = gradebooks.gradebook(session, courses.get_course(session, course))
        typer.echo(gradebooks.as_csv(book), nl=False)


@app.command("add-node")
def add_node(name: Annotated[str, typer.Argument(help="Name of the grading node.")]) -> None:
    """Register a grading node (or give it a new token) and print its token, once."""
    from server.grading import service as grading

    with _sentences(), _database(load()) as database, database.begin() as session:
        _, token = grading.register_node(session, name)
    typer.echo(token)


@app.command()
def publish(
    paths: Annotated[
        list[str], typer.Argument(help="Assignments: names such as kernels/add-rmsnorm, or folders.")
    ],
    course: CourseOption,
    by: Annotated[str, typer.Option("--as", help="Login of the member of staff who publishes.")],
) -> None:
    """Publish assignments in a course, each as a new version if its folder has changed."""
    from server import publishing

    settings = load()
    with _sentences(), _database(settings) as database:
        for path in paths:
            outcome = publishing.publish(database, settings, course, path, by=by)
            typer.echo(
                f"{outcome.name} {outcome.digest[:12]} {'published' if outcome.changed else 'unchanged'}"
            )


@app.command()
def sync(
    course: CourseOption,
    by: Annotated[str, typer.Option("--as", help="Login of the member of staff who publishes.")],
    folder: Annotated[Path, typer.Option(help="Folder of tracks.", exists=True)] = Path("assignments"),
) -> None:
    """Publish every assignment below a folder whose content has changed."""
    from server import publishing

    publish([str(path) for path in publishing.folders(folder)], course=course, by=by)


@app.command()
def demo(
    port: Annotated[int | None, typer.Option(help="Port; 8000, or another if that is taken.")] = None,
) -> None:
    """Set up a course with students, grade their submissions, show the board, and go on serving."""
    from server import demo as script

    with _sentences(), _ended() as ended:
        try:
            raise typer.Exit(script.run(port=port, ended=ended))
        except script.CountError as error:
            raise typer.BadParameter(str(error)) from error


def _say_contents(verb: str, contents: "Contents") -> None:
    rows = sum(table.rows for table in contents.tables.values())
    typer.echo(
        f"{verb} {rows} rows of {len(contents.tables)} tables and {len(contents.blobs)} files "
        f"({sum(contents.blobs.values())} bytes), as of {contents.made.isoformat(timespec='seconds')}"
    )


def _user(session: Session, login: str) -> User:
    """The user of that login; raises `NotFound`."""
    from server.accounts import service as accounts

    user = accounts.find_user(session, login)
    if user is None:
        raise NotFound(what=f"user {login}")
    return user


def web() -> object:
    """The application as uvicorn starts it, publishing to the broker."""
    from server import logging
    from server.app import create_app
    from server.tasks.publisher import celery_app, publisher
    from server.web.render import warm_up

    settings = load()
    logging.configure(settings)
    warm_up()
    application = create_app(settings, publish=publisher(celery_app(settings.broker_url)))
    gc.collect()
    gc.freeze()  # Else the collector walks through every module now and then, and a page waits 0.1 s.
    return application


def _with_broker() -> Settings:
    settings = load()
    if not settings.broker_url:
        raise typer.BadParameter("SOLMARK_BROKER_URL must name the broker")
    return settings


def _migrate(settings: Settings) -> None:
    from server.db.migrate import upgrade

    upgrade(settings.database)


@contextmanager
def _sentences() -> Iterator[None]:
    """What can go wrong in the ordinary way ends the command with a sentence, not with a traceback."""
    from server.backup import ArchiveError
    from server.embedded import EmbeddedError, HomeTakenError

    try:
        yield
    except (ArchiveError, AssignmentError, DomainError, EmbeddedError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2 if isinstance(error, HomeTakenError) else 1) from error


@contextmanager
def _database(settings: Settings) -> Iterator[Database]:
    database = Database(settings.database)
    try:
        yield database
    finally:
        database.close()


@contextmanager
def _ended() -> Iterator[Callable[[], bool]]:
    """A function that says whether SIGINT or SIGTERM has come; a second one of them interrupts."""
    received: list[int] = []

    def note(number: int, _frame: object) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    app()
