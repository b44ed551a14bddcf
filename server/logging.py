"""Structured logs: one JSON object a line (or text for people), with the request's id in every line of it."""

import logging
import sys
from collections.abc import Mapping
from typing import Any

import structlog
from starlette.requests import Request
from starlette.types import Scope

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
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if settings.log_format == "json"
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(settings.log_level)
    logging.captureWarnings(True)
    # The middleware writes one line a request, with its id: uvicorn's own would be a second one.
    logging.getLogger("uvicorn.access").disabled = True
