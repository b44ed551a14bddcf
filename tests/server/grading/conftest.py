"""More students for the tests of the queue."""

from collections.abc import Callable
from typing import Any

import pytest

from server.accounts import service as accounts
from server.courses import service as courses
from server.db.session import Database


@pytest.fixture
def students(database: Database, grader: Any) -> Callable[[int], list[str]]:
    """Enrols more students, whom `submit` then finds in the world by their login."""

    def enrol(number: int) -> list[str]:
        logins = [f"s{index}" for index in range(number)]
        with database.begin() as session:
            course = courses.get_course(session, "demo")
            for login in logins:
                user = accounts.create_user(session, grader.settings, login=login, name=login, password=None)
                courses.enrol(session, course, user, by=grader.world.admin)
                object.__setattr__(grader.world, login, user)
        return logins

    return enrol
