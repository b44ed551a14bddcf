"""Turns every error into an answer: the one JSON shape for programs, a page for people."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DataError, IntegrityError, SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from server import faults
from server.errors import BodyTooLarge, Conflict, DomainError, Invalid, Unavailable, error_body

RenderError = Callable[[Request, int, dict[str, Any]], Awaitable[Response]]
"""Makes a page of an error: (request, status, the error shape)."""
_HTTP = {
    400: ("bad_request", "The request cannot be read.", "无法读取该请求。"),
    401: ("not_logged_in", "Log in first, or send a valid API token.", "请先登录，或提供有效的 API 令牌。"),
    403: ("forbidden", "You may not do that.", "您无权执行该操作。"),
    404: ("not_found", "There is nothing at this address.", "该地址不存在任何内容。"),
    405: ("method_not_allowed", "This address does not take that method.", "该地址不支持此请求方法。"),
    413: ("body_too_large", "The request is too large.", "请求过大。"),
}
_OTHER = ("http_error", "The request cannot be carried out.", "无法执行该请求。")
_INTERNAL = (
    "internal_error",
    "Something went wrong on our side. It was logged with the request's id.",
    "服务器内部错误，已连同请求编号记录。",
)
PROGRAMS = ("/api/", "/internal/", "/healthz", "/readyz", "/metrics")
"""Beginnings of addresses that programs ask, not browsers."""
_log = structlog.get_logger(__name__)


async def answer(request: Request, error: Exception) -> Response:
    """The answer to any error; what is not a known one is logged and answered with 500."""
    status, body, headers = _meaning(error)
    render: RenderError | None = request.app.state.render_error
    response: Response = JSONResponse(body, status)
    if render is not None and wants_page(request):
        try:
            response = await render(request, status, body)
        except Exception:  # noqa: BLE001  whoever asked is told what happened in any case
            _log.error("page of an error not made", exc_info=True)
    response.headers.update(headers)
    return response


def _meaning(error: Exception) -> tuple[int, dict[str, Any], Mapping[str, str]]:
    """Status, error shape and headers of an error's answer; the log is told what people cannot mend."""
    match error:
        case DomainError():
            return error.status, error.body(), error.headers
        case RequestValidationError():
            return 422, faults.body(error.errors()), {}
        case HTTPException(__cause__=DomainError() as cause):  # Raised where FastAPI read a body.
            return _meaning(cause)
        case HTTPException(status_code=413):
            return _meaning(BodyTooLarge(limit=str(error.detail)))
        case HTTPException():
            body = error_body(*_HTTP.get(error.status_code, _OTHER), {})
            return error.status_code, body, error.headers or {}
        case ClientDisconnect():
            _log.info("client went away while it sent its request")
            return 400, error_body(*_HTTP[400], {}), {}
        case DataError():
            _log.warning("database refused a value", error=str(error.orig))
            return _meaning(Invalid(field="request", why="a value cannot be stored", why_zh="某个值无法存储"))
        case IntegrityError():
            _log.warning("constraint refused a write", error=str(error.orig))
            return _meaning(Conflict(what="somebody changed it at the same moment; try again"))
        case SQLAlchemyError():
            _log.error("database failed", exc_info=error)
            return _meaning(Unavailable(what="database"))
        case _:
            _log.error("request failed", exc_info=error)
            identity = structlog.contextvars.get_contextvars().get("request")
            return 500, error_body(*_INTERNAL, {"request": identity}), {}


def wants_page(request: Request) -> bool:
    """Whether a person's browser asks, and not a program."""
    path: str = request.scope["path"]
    return not path.startswith(PROGRAMS) and "text/html" in request.headers.get("accept", "")
