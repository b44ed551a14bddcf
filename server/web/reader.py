"""Who reads a page: the dependency that pages take, and the same for the page of an error."""

from typing import Annotated

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from server.access import Admission, Db, MaybeUser
from server.accounts import service as accounts
from server.courses import service as courses
from server.db.models import User
from server.security import SESSION_COOKIE
from server.web.render import Reader, language_of


def _of(request: Request, session: Session, user: User | None) -> Reader:
    is_staff = user is not None and any(role.is_staff for _, role in courses.courses_of(session, user))
    return Reader(language_of(request), user, is_staff)


def _reader(request: Request, session: Db, user: MaybeUser) -> Reader:
    return _of(request, session, user)


PageReader = Annotated[Reader, Depends(_reader)]
"""Who reads the page, if logged in, and in which language; staff of any course see the staff's links."""


async def reader_of_error(request: Request, status: int) -> Reader:
    """Who reads an error's page. After a failure of ours the database is not asked: it may be the cause."""
    if SESSION_COOKIE not in request.cookies:
        return Reader(language_of(request))
    unknown = Reader(language_of(request), known=False)
    if status >= 500:
        return unknown
    admission: Admission = request.app.state.admission
    try:
        async with admission.reading:
            return await run_in_threadpool(_asked, request)
    except SQLAlchemyError:
        return unknown


def _asked(request: Request) -> Reader:
    state = request.app.state
    with state.database.read() as session:
        user = accounts.session_user(session, state.settings, request.cookies[SESSION_COOKIE])
        return _of(request, session, user)
