"""The web application: settings, database and blobs, every route, and how errors are answered."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import redis
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from sqlalchemy import text
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from server import failure, settings
from server.access import Admission, Db
from server.accounts import api as accounts_api
from server.accounts import pages as accounts_pages
from server.blobs import BlobStore
from server.courses import api as courses_api
from server.courses import pages as courses_pages
from server.db.session import Database, Publisher, publish_nothing
from server.errors import DomainError
from server.gradebook import api as gradebook_api
from server.gradebook import pages as gradebook_pages
from server.grading import api as grading_api
from server.grading import events
from server.grading import pages as grading_pages
from server.leaderboard import api as leaderboard_api
from server.leaderboard import pages as leaderboard_pages
from server.metrics import api as metrics_api
from server.middleware import VERSION, Guard
from server.schemas import ERRORS
from server.submissions import api as submissions_api
from server.submissions import pages as submissions_pages
from server.web import site

_API = (accounts_api, courses_api, submissions_api, events, leaderboard_api, gradebook_api, grading_api)
_PAGES = (accounts_pages, courses_pages, submissions_pages, leaderboard_pages, gradebook_pages, grading_pages)
BROKER_SECONDS = 2.0
health = APIRouter(tags=["health"])


@health.get("/healthz")
def healthz() -> dict[str, str]:
    """The process lives."""
    return {"status": "ok"}


@health.get("/readyz")
def readyz(session: Db) -> dict[str, str]:
    """The database answers. The broker may be away: what is submitted then is graded later."""
    session.execute(text("SELECT 1"))
    return {"status": "ok"}


def create_app(
    chosen: settings.Settings | None = None,
    *,
    database: Database | None = None,
    publish: Publisher = publish_nothing,
) -> FastAPI:
    """An application on a migrated database; `publish` gets what to send to the queue after a commit."""
    chosen = chosen or settings.load()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        if app.state.broker is not None:
            app.state.broker.close()
        if database is None:
            app.state.database.close()

    app = FastAPI(
        title="Solmark",
        version=VERSION,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.settings = chosen
    app.state.database = database or Database(chosen.database, pool=chosen.database_pool, publish=publish)
    app.state.admission = Admission(app.state.database, chosen.database_pool)
    app.state.blobs = BlobStore(chosen.blob_folder)
    app.state.broker = _broker(chosen)
    app.state.render_error = None
    app.add_middleware(Guard, settings=chosen)
    for kind in (DomainError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _answer)
    app.include_router(health)
    app.include_router(metrics_api.router)
    for module in (*_API, *_PAGES):
        app.include_router(module.router, responses=ERRORS if module in _API else None)
    site.install(app)
    return app


def _broker(chosen: settings.Settings) -> "redis.Redis | None":
    """For reading counts; nothing is asked of it before somebody wants them."""
    if not chosen.broker_url:
        return None
    return redis.Redis.from_url(
        chosen.broker_url, socket_timeout=BROKER_SECONDS, socket_connect_timeout=BROKER_SECONDS
    )


async def _answer(request: Request, error: Exception) -> Response:
    return await failure.answer(request, error)
