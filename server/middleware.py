"""What happens to every request around its endpoint: limits, origin, headers, one line in the log."""

import secrets
import time
from importlib.metadata import version

import structlog
from python_multipart.multipart import parse_options_header
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server import credentials, failure, formdata, security
from server.errors import BodyTooLarge, CrossSite, DomainError, Invalid, NotFound
from server.logging import noted
from server.settings import Settings

VERSION = version("solmark")
VERSION_HEADER = "X-Solmark-Version"
REQUEST_HEADER = "X-Request-Id"
MULTIPART_SLACK = 5 << 20
"""Bytes that a bundle's manifest and the multipart form may add."""
_BEARERS = ("/api/", "/internal/")
"""Where a token in the header, and nothing else, says who asks (`access`)."""
_log = structlog.get_logger("server.request")


def _unreadable(field: str) -> Invalid:
    return Invalid(field=field, why="plain UTF-8 text is needed", why_zh="须为纯 UTF-8 文本")


def _reads_as_utf8(content_type: str) -> bool:
    """Whether a body of this type is read as UTF-8; forms would be decoded by any codec that Python has."""
    _, options = parse_options_header(content_type)
    charset = options.get(b"charset", b"utf-8")
    return charset.strip().lower() in {b"", b"utf-8", b"utf8", b"us-ascii", b"ascii"}


class Guard:
    """The only middleware of ours: outermost but for Starlette's own, so that every answer passes it."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope.setdefault("state", {})  # Shared with what answers: see `logging.noted`.
        request = Request(scope)
        identity = secrets.token_hex(8)
        began = time.perf_counter()
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers[VERSION_HEADER] = VERSION
                headers[REQUEST_HEADER] = identity
                for name, value in security.HEADERS.items():
                    headers.setdefault(name, value)
            if request.method == "HEAD" and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        # A page answers HEAD as it answers GET; programs and streams are asked as documented.
        if scope["method"] == "HEAD" and not scope["path"].startswith(failure.PROGRAMS):
            scope = {**scope, "method": "GET"}
        structlog.contextvars.clear_contextvars()
        with structlog.contextvars.bound_contextvars(request=identity):
            try:
                refusal = self._refusal(request)
                if refusal is not None:
                    # Its page must not repeat an address that cannot be read.
                    asked = Request({**scope, "query_string": b""})
                    answer = await failure.answer(asked, refusal)
                    await answer(scope, receive, sending)
                else:
                    await self.app(scope, self._limited(request, receive), sending)
            except Exception as error:
                if status:
                    _log.error("failed while answering", exc_info=error)
                    raise
                answer = await failure.answer(request, error)
                await answer(scope, receive, sending)
            finally:
                _log.info(
                    "request", method=request.method, path=scope["path"], status=status,
                    seconds=round(time.perf_counter() - began, 4), **noted(scope),
                )  # fmt: skip

    def _limit(self, request: Request) -> int:
        path: str = request.scope["path"]
        if path.startswith("/internal/blobs/"):
            return self.settings.log_blob_bytes
        if path.startswith("/api/") and path.endswith("/bundles"):
            return self.settings.bundle_bytes + MULTIPART_SLACK
        return self.settings.body_bytes

    def _refusal(self, request: Request) -> DomainError | None:
        """Why the request is refused before its body is read, if it is."""
        limit = self._limit(request)
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > limit:
            return BodyTooLarge(limit=limit)
        if "\0" in request.scope["path"]:
            return NotFound(what="address")
        query: bytes = request.scope["query_string"]
        if b"%00" in query or not query.isascii():
            return _unreadable("query")
        if not _reads_as_utf8(request.headers.get("content-type", "")):
            return _unreadable("Content-Type")
        if request.method in security.SAFE_METHODS:
            return None
        if security.bearer(request) is not None and request.scope["path"].startswith(_BEARERS):
            return None  # Only the token counts there, and another site's page cannot know it.
        same = security.same_origin(self.settings, request)
        if same is False:
            return CrossSite()
        cookie = request.cookies.get(security.SESSION_COOKIE)
        if same is None and cookie and request.scope["path"].startswith("/api/"):
            token = request.headers.get(security.FORM_HEADER, "")
            if not credentials.form_token_matches(self.settings, cookie, token):
                return CrossSite()
        return None  # Pages check the token in their form (`access.CheckedForm`).

    def _limited(self, request: Request, receive: Receive) -> Receive:
        """Stop reading a body that is larger than it said, or said nothing, when it passes the limit.

        Stop as well at a form that its reader would take for another than it is.
        """
        limit = self._limit(request)
        watching = formdata.watch(request.headers.get("content-type", ""))
        total = 0

        async def receiving() -> Message:
            nonlocal total
            message = await receive()
            chunk = message.get("body", b"")
            total += len(chunk)
            if total > limit:
                raise HTTPException(413, str(limit))
            if message["type"] == "http.request":
                watching(chunk, message.get("more_body", False))
            return message

        return receiving
