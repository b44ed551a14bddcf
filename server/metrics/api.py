"""`GET /metrics`, for those who may read it."""

import hmac

from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from prometheus_client import CONTENT_TYPE_LATEST

from server import security
from server.access import AppDatabase, AppSettings
from server.errors import Forbidden, NotLoggedIn
from server.metrics.families import exposition

_LOOPBACK = ("127.0.0.1", "::1")
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
"""A proxy's request comes from this machine, whoever sent it."""
router = APIRouter(tags=["health"])


def _reader(request: Request, settings: AppSettings) -> None:
    """Who has the token; without one in the settings, whoever asks from this machine itself."""
    token = settings.metrics_token.get_secret_value()
    if token:
        given = security.bearer(request) or ""
        if not hmac.compare_digest(given.encode(), token.encode()):
            raise NotLoggedIn
        return
    address = request.client.host if request.client else ""
    if address not in _LOOPBACK or any(name in request.headers for name in _FORWARDED):
        raise Forbidden(
            needs="the token of SOLMARK_METRICS_TOKEN, or to ask from the server itself",
            needs_zh="SOLMARK_METRICS_TOKEN 令牌，或从服务器本机访问",
        )


@router.get("/metrics", dependencies=[Depends(_reader)], response_class=Response)
async def metrics(request: Request, settings: AppSettings, database: AppDatabase) -> Response:
    """Numbers for operators, in the text form of Prometheus; `docs/metrics.md` says what each means."""
    async with request.app.state.admission.gate(request):
        text = await run_in_threadpool(exposition, settings, database, request.app.state.broker)
    return Response(text, media_type=CONTENT_TYPE_LATEST)
