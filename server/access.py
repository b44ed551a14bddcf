"""What endpoints ask for: the transaction, who is asking, and pages of a list.

A request that may change something runs in one writing transaction, any other in a reading one; it is over
before the answer is sent, so that an answer of success is never a lie.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query, Security
from fastapi.concurrency import contextmanager_in_threadpool
from fastapi.security import APIKeyCookie, HTTPBearer
from sqlalchemy.orm import Session
from starlette.requests import Request

from server import credentials, formdata, security
from server.accounts import service as accounts
from server.blobs import BlobStore
from server.db.models import ApiToken, Node, User
from server.db.session import Database
from server.errors import CrossSite, Forbidden, NotLoggedIn
from server.grading import service as grading
from server.schemas import MAX_ID
from server.settings import Settings

MAX_PAGE = 200
_FOLLOWING = 4
"""Streams that read the database at once, of any number that are open."""
_HASHING = frozenset({"/login", "/account/password", "/api/v1/login", "/api/v1/tokens"})
"""Where passwords are checked, which takes a tenth of a second: others write meanwhile."""

_TOKEN = HTTPBearer(
    scheme_name="token", auto_error=False, description="An API token: `Authorization: Bearer smk_...`."
)
_SESSION = APIKeyCookie(
    name=security.SESSION_COOKIE,
    scheme_name="session",
    auto_error=False,
    description="What a browser has after a login. Never beside a header `Authorization`.",
)
_NODE_TOKEN = HTTPBearer(
    scheme_name="node", auto_error=False, description="The token of a grading node, from `add-node`."
)
"""These three describe in OpenAPI what the functions below read."""


def _settings(request: Request) -> Settings:
    return request.app.state.settings  # type: ignore[no-any-return]


def _database(request: Request) -> Database:
    return request.app.state.database  # type: ignore[no-any-return]


def _blobs(request: Request) -> BlobStore:
    return request.app.state.blobs  # type: ignore[no-any-return]


AppSettings = Annotated[Settings, Depends(_settings)]
AppDatabase = Annotated[Database, Depends(_database)]
Blobs = Annotated[BlobStore, Depends(_blobs)]


def _reads(request: Request) -> bool:
    return request.method in security.SAFE_METHODS


class Admission:
    """Lets so many transactions begin as the database can serve; the others wait here, without a thread.

    A request holds its connection while it waits for a thread. If threads waited for connections in turn, a
    crowd of requests would stand still until they time out.
    """

    def __init__(self, database: Database, pool: int) -> None:
        # A request may need a second connection, to note that its token was used.
        several = asyncio.Semaphore(max(1, pool // 2))
        one_writer = database.engine.dialect.name == "sqlite"
        self._reading, self._writing = several, asyncio.Semaphore(1) if one_writer else several
        self._following = asyncio.Semaphore(max(1, min(_FOLLOWING, pool // 4)))

    @property
    def following(self) -> asyncio.Semaphore:
        """What a stream has to pass that looks at the state again: a gate of their own, so that hundreds of
        followers wait for each other, and not everybody else for them."""
        return self._following

    @property
    def reading(self) -> asyncio.Semaphore:
        """What anybody has to pass who reads beside a request's transaction."""
        return self._reading

    def gate(self, request: Request) -> asyncio.Semaphore:
        """What a request has to pass before its transaction begins."""
        hashes = request.scope["path"] in _HASHING  # Gives its transaction up while it computes.
        return self._reading if hashes or _reads(request) else self._writing


async def _session(request: Request, database: AppDatabase) -> AsyncIterator[Session]:
    admission: Admission = request.app.state.admission
    async with admission.gate(request):
        transaction = database.read() if _reads(request) else database.begin()
        async with contextmanager_in_threadpool(transaction) as session:
            yield session


Db = Annotated[Session, Depends(_session, scope="function")]
"""The request's transaction: reading for GET and HEAD, writing for the rest."""


@dataclass(frozen=True)
class Caller:
    """Who is asking, and what their token allows; a browser's session allows everything."""

    user: User
    scopes: frozenset[str]
    token: ApiToken | None = None

    def require(self, scope: accounts.Scope) -> None:
        """Raise `Forbidden` if a token without that scope was used."""
        if scope not in self.scopes:
            raise Forbidden(needs=f"scope {scope}", needs_zh=f"令牌权限 {scope}")


def _caller(
    request: Request,
    session: Db,
    settings: AppSettings,
    database: AppDatabase,
    _token: Annotated[object, Security(_TOKEN)],
    _cookie: Annotated[object, Security(_SESSION)],
) -> Caller | None:
    # Pages are for browsers. Elsewhere the header alone says who asks: a cookie beside it never counts.
    if "authorization" in request.headers and request.scope["path"].startswith("/api/"):
        token = security.bearer(request)
        found = accounts.token_user(session, token) if token is not None else None
        if found is None:
            raise NotLoggedIn
        user, row = found
        if accounts.is_stale(row):
            with database.begin() if _reads(request) else nullcontext(session) as writing:
                accounts.touch_token(writing, row)
        return Caller(user, frozenset(row.scopes), row)
    cookie = request.cookies.get(security.SESSION_COOKIE)
    user_of_cookie = accounts.session_user(session, settings, cookie) if cookie else None
    return Caller(user_of_cookie, frozenset(accounts.SCOPES)) if user_of_cookie else None


MaybeCaller = Annotated[Caller | None, Depends(_caller)]


def _required(caller: MaybeCaller) -> Caller:
    if caller is None:
        raise NotLoggedIn
    return caller


AnyCaller = Annotated[Caller, Depends(_required)]


def _reader(caller: AnyCaller) -> User:
    caller.require("read")
    return caller.user


def _submitter(caller: AnyCaller) -> User:
    caller.require("submit")
    return caller.user


def _staff(caller: AnyCaller) -> User:
    caller.require("staff")
    return caller.user


def _maybe_user(caller: MaybeCaller) -> User | None:
    return caller.user if caller is not None and "read" in caller.scopes else None


CurrentUser = Annotated[User, Depends(_reader)]
"""Who is logged in, by session or by a token with the scope `read`; raises `NotLoggedIn`."""
SubmittingUser = Annotated[User, Depends(_submitter)]
"""The same, for a token with the scope `submit`."""
StaffUser = Annotated[User, Depends(_staff)]
"""The same, for a token with the scope `staff`; the role in the course is checked by the service."""
MaybeUser = Annotated[User | None, Depends(_maybe_user)]


def _node(request: Request, session: Db, _token: Annotated[object, Security(_NODE_TOKEN)]) -> Node:
    token = security.bearer(request)
    node = grading.node_by_token(session, token) if token else None
    if node is None:
        raise NotLoggedIn
    return node


CurrentNode = Annotated[Node, Depends(_node)]
"""The grading node whose token came with the request; raises `NotLoggedIn`."""


@dataclass(frozen=True)
class Page:
    """At most `limit` items, beginning after the one whose cursor is `after` (0: from the start)."""

    limit: int
    after: int


def _page(
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50, after: Annotated[int, Query(ge=0, le=MAX_ID)] = 0
) -> Page:
    return Page(limit, after)


Paging = Annotated[Page, Depends(_page)]


def client_address(request: Request) -> str:
    """The network address that asks, for limits of logins."""
    return request.client.host if request.client else ""


def form_token(request: Request) -> str:
    """The token for the forms of this session's pages; empty if nobody is logged in."""
    cookie = request.cookies.get(security.SESSION_COOKIE)
    return credentials.form_token(_settings(request), cookie) if cookie else ""


async def _checked_form(request: Request) -> None:
    """Verify the form token of a posted form, unless the browser itself says that our page sent it."""
    settings = _settings(request)
    cookie = request.cookies.get(security.SESSION_COOKIE)
    if security.same_origin(settings, request) or not cookie:
        return
    posted = (await formdata.read(request)).get(security.FORM_FIELD)
    if not isinstance(posted, str) or not credentials.form_token_matches(settings, cookie, posted):
        raise CrossSite


CheckedForm = Depends(_checked_form)
"""For `dependencies=[CheckedForm]` of every page that takes a form."""
