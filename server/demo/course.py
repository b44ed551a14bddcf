"""The demo's course: staff, students, and passwords that are made once and kept beside the database."""

import json
import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

from server.accounts import service as accounts
from server.courses import service as courses
from server.db.models.course import Role
from server.db.session import Database
from server.errors import NotFound
from server.settings import Settings

COURSE = "demo"
ADMIN, ASSISTANT = "admin", "assistant"


def seed(database: Database, settings: Settings, students: Iterable[str]) -> Mapping[str, str]:
    """Create what is missing of course, staff and students; return everybody's password by login."""
    roles = {ADMIN: Role.ADMIN, ASSISTANT: Role.TA, **dict.fromkeys(students, Role.STUDENT)}
    passwords = _passwords(settings.server_home / "demo.json", list(roles))
    with database.begin() as session:
        users = {}
        for login, password in passwords.items():
            user = accounts.find_user(session, login)
            if user is None:
                user = accounts.create_user(
                    session, settings, login=login, name=login.capitalize(), password=password,
                    site_admin=login == ADMIN,
                )  # fmt: skip
            users[login] = user
        try:
            course = courses.get_course(session, COURSE)
        except NotFound:
            course = courses.create_course(
                session, slug=COURSE, title_en="Machine learning systems", title_zh="机器学习系统",
                public_boards=True, by=users[ADMIN],
            )  # fmt: skip
        for login, role in roles.items():
            courses.enrol(session, course, users[login], role, by=users[ADMIN])
    return passwords


def _passwords(file: Path, logins: list[str]) -> dict[str, str]:
    known: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    missing = {login: secrets.token_urlsafe(9) for login in logins if login not in known}
    if missing:
        known |= missing
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial")
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as opened:
            json.dump(known, opened, indent=1)
        partial.replace(file)
    return known
