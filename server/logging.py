"""Structured logs: one JSON object a line (or text for people), with the request's id in every line of it."""

import logging
import sys
from collections.abc import Mapping
from typing import Any

import structlog
from starlette.requests import Request
from starlette.types import Scope

from grader import logs
from server.settings import Settings

_FIELDS = "solmark_log"


def note(request: Request, **fields: Any) -> None:
    """Have fields, such as the submission that it is about, in the log's line on this request."""
    request.scope.setdefault("state", {}).setdefault(_FIELDS, {}).update(fields)


def noted(scope: Scope) -> Mapping[str, Any]:
    """The fields that were noted while a request was served."""
    found: Mapping[str, Any] = scope.get("state", {}).get(_FIELDS, {})
    return found


def configure(settings: Settings) -> None:
    """Send structlog and the standard loggers to standard error in the form that the settings name."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if settings.log_format == "json"
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    )
    logs.configure(renderer, settings.log_level)
    # The middleware writes one line a request, with its id: uvicorn's own would be a second one.
    logging.getLogger("uvicorn.access").disabled = True
