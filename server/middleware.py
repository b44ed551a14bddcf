"""What happens to every request around its endpoint: limits, origin, headers, one line in the log."""

import secrets
import time
from importlib.metadata import version

import structlog
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server import credentials, failure, security
from server.errors import BodyTooLarge, CrossSite, DomainError
from server.settings import Settings

VERSION = version("solmark")
VERSION_HEADER = "X-Solmark-Version"
REQUEST_HEADER = "X-Request-Id"
MULTIPART_SLACK = 5 << 20
"""Bytes that a bundle's manifest and the multipart form may add."""
_log = structlog.get_logger("server.request")


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
            await send(message)

        structlog.contextvars.clear_contextvars()
        with structlog.contextvars.bound_contextvars(request=identity):
            try:
                refusal = self._refusal(request)
                if refusal is not None:
                    await failure.answer(request, refusal)(scope, receive, sending)
                else:
                    await self.app(scope, self._limited(request, receive), sending)
            except Exception as error:
                if status:
                    _log.error("failed while answering", exc_info=error)
                    raise
                await failure.answer(request, error)(scope, receive, sending)
            finally:
                _log.info(
                    "request", method=request.method, path=request.url.path, status=status,
                    seconds=round(time.perf_counter() - began, 4),
                )  # fmt: skip

    def _limit(self, request: Request) -> int:
        path = request.url.path
        if path.startswith("/internal/blobs/"):
            return self.settings.log_blob_bytes
        if path.startswith("/api/") and path.endswith("/bundles"):
            return self.settings.bundle_bytes + MULTIPART_SLACK
        return self.settings.body_bytes

    def _refusal(self, request: Request) -> DomainError | None:
        """Why the request is refused before its body is read, if it is."""
        limit = self._limit(request)
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > limit:
            return BodyTooLarge(limit=limit)
        if request.method in security.SAFE_METHODS or "authorization" in request.headers:
            return None  # Another site's page cannot set that header.
        same = security.same_origin(self.settings, request)
        if same is False:
            return CrossSite()
        cookie = request.cookies.get(security.SESSION_COOKIE)
        if same is None and cookie and request.url.path.startswith("/api/"):
            token = request.headers.get(security.FORM_HEADER, "")
            if not credentials.form_token_matches(self.settings, cookie, token):
                return CrossSite()
        return None  # Pages check the token in their form (`access.CheckedForm`).

    def _limited(self, request: Request, receive: Receive) -> Receive:
        """Stop reading a body that is larger than it said, or said nothing, when it passes the limit."""
        limit = self._limit(request)
        total = 0

        async def receiving() -> Message:
            nonlocal total
            message = await receive()
            total += len(message.get("body", b""))
            if total > limit:
                raise HTTPException(413, str(limit))
            return message

        return receiving
