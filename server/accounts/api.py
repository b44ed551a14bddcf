"""The API of people, sessions and tokens."""

from fastapi import APIRouter, Response
from starlette.requests import Request

from grader.contract import VERSION as CONTRACT_VERSION
from server import security
from server.access import (
    AnyCaller,
    AppSettings,
    CurrentUser,
    Db,
    MaybeCaller,
    Paging,
    StaffUser,
    client_address,
)
from server.accounts import service
from server.accounts.schemas import (
    LoginBody,
    MeCourse,
    MeOut,
    NewTokenOut,
    TokenBody,
    TokenOut,
    UserBody,
    UserOut,
    VersionOut,
)
from server.courses import service as courses
from server.db.audit import record
from server.db.models import User
from server.errors import Forbidden, NotLoggedIn
from server.middleware import VERSION
from server.schemas import Id, Items

API_VERSION = 1
router = APIRouter(prefix="/api/v1", tags=["accounts"])


@router.get("/version")
def version() -> VersionOut:
    """Versions of the server, its API and the wire contract; needs no login."""
    return VersionOut(version=VERSION, api=API_VERSION, contract=CONTRACT_VERSION)


@router.post("/login")
def log_in(
    body: LoginBody, request: Request, response: Response, session: Db, settings: AppSettings
) -> MeOut:
    """Log a browser in: sets the session's cookie."""
    user = service.log_in(
        session, settings, login=body.login, password=body.password, address=client_address(request)
    )
    security.set_session_cookie(response, settings, service.open_session(session, settings, user))
    return _me(session, user)


@router.post("/logout", status_code=204)
def log_out(request: Request, response: Response, session: Db, settings: AppSettings) -> None:
    """Log this browser out; its cookie is worthless from now on."""
    cookie = request.cookies.get(security.SESSION_COOKIE)
    if cookie:
        service.close_session(session, settings, cookie)
    security.clear_session_cookie(response, settings)


@router.get("/me")
def me(session: Db, user: CurrentUser) -> MeOut:
    """The caller and the caller's courses."""
    return _me(session, user)


@router.post("/tokens", status_code=201)
def create_token(
    body: TokenBody, request: Request, session: Db, settings: AppSettings, caller: MaybeCaller
) -> NewTokenOut:
    """Create a token, with name and password or from a session; a token creates none that may do more."""
    expires = body.expires
    if body.login is not None and body.password is not None:
        user = service.log_in(
            session, settings, login=body.login, password=body.password, address=client_address(request)
        )
    elif caller is None:
        raise NotLoggedIn
    else:
        user = caller.user
        caller.require("submit")  # Who may only read makes nothing that outlives their own token.
        for scope in body.scopes:
            caller.require(scope)
        if caller.token is not None:
            expires = service.bounded_expiry(expires, caller.token)
    token, secret = service.create_token(session, user, name=body.name, scopes=body.scopes, expires=expires)
    return NewTokenOut(**TokenOut.model_validate(token).model_dump(), token=secret)


@router.get("/tokens")
def tokens(session: Db, user: CurrentUser, page: Paging) -> Items[TokenOut]:
    """The caller's tokens, newest first."""
    rows = service.tokens(session, user, before=page.after or None, limit=page.limit)
    after = rows[-1].id if len(rows) == page.limit else None
    return Items(items=[TokenOut.model_validate(row) for row in rows], next=after)


@router.delete("/tokens/{token_id}", status_code=204)
def revoke_token(token_id: Id, session: Db, caller: AnyCaller) -> None:
    """Revoke one of the caller's tokens: a token itself, or with `submit` those that may do no more."""
    if caller.token is None or caller.token.id != token_id:
        caller.require("submit")
        for scope in service.token_scopes(session, caller.user, token_id):
            caller.require(scope)
    service.revoke_token(session, caller.user, token_id)


@router.post("/users", status_code=201)
def create_user(body: UserBody, session: Db, settings: AppSettings, user: StaffUser) -> UserOut:
    """Create a user (admins of the site)."""
    if not user.site_admin:
        raise Forbidden(needs="admin of the site", needs_zh="网站管理员")
    created = service.create_user(
        session, settings, login=body.login, name=body.name, password=body.password, email=body.email
    )
    record(session, "user.create", created.login, actor=user, course_id=None)
    return UserOut.model_validate(created)


def _me(session: Db, user: User) -> MeOut:
    found = [
        MeCourse(slug=course.slug, role=role.value) for course, role in courses.courses_of(session, user)
    ]
    return MeOut(login=user.login, name=user.name, site_admin=user.site_admin, courses=found)
