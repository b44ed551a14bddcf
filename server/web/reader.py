"""Who reads a page: the dependency that pages take."""

from typing import Annotated

from fastapi import Depends, Request

from server.access import Db, MaybeUser
from server.courses import service as courses
from server.web.render import Reader, language_of


def _reader(request: Request, session: Db, user: MaybeUser) -> Reader:
    is_staff = user is not None and any(role.is_staff for _, role in courses.courses_of(session, user))
    return Reader(language_of(request), user, is_staff)


PageReader = Annotated[Reader, Depends(_reader)]
"""Who reads the page, if logged in, and in which language; staff of any course see the staff's links."""
