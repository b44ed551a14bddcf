"""Puts the site into the application: static files and errors as pages."""

from collections.abc import MutableMapping
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles

from server.web.reader import reader_of_error
from server.web.render import STATIC_FOLDER, localized_error, page
from server.web.words import N_

_HEADINGS = {
    400: N_("This request cannot be read"),
    403: N_("Not allowed"),
    404: N_("Not found"),
    405: N_("Not possible here"),
    409: N_("Not possible now"),
    413: N_("Too large"),
    422: N_("Something is missing or wrong"),
    429: N_("Too much at once"),
    500: N_("Something went wrong on our side"),
    503: N_("Not available at the moment"),
}
_YEAR_SECONDS = 365 * 86400


class _Static(StaticFiles):
    """Static files; an address that carries the content's digest may be kept for a year."""

    async def get_response(self, path: str, scope: MutableMapping[str, Any]) -> Response:
        """The file, with how long it may be kept."""
        response = await super().get_response(path, scope)
        versioned = b"v=" in scope.get("query_string", b"")
        response.headers["Cache-Control"] = (
            f"public, max-age={_YEAR_SECONDS}, immutable" if versioned else "public, max-age=3600"
        )
        return response


def install(app: FastAPI) -> None:
    """Mount `/static` and set how errors look to a browser."""
    app.mount("/static", _Static(directory=STATIC_FOLDER), name="static")
    app.state.render_error = render_error


async def render_error(request: Request, status: int, body: dict[str, Any]) -> Response:
    """An error as a page in the reader's language; who is not logged in is sent to the login page."""
    if status == 401:
        return _to_login(request)
    reader = await reader_of_error(request, status)
    heading = _HEADINGS.get(status) or (_HEADINGS[500] if status >= 500 else _HEADINGS[400])
    return page(
        request,
        reader,
        "error.html",
        status=status,
        code=status,
        heading=reader.gettext(heading),
        message=localized_error(body, reader.language),
    )


def _to_login(request: Request) -> Response:
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    address = f"/login?next={quote(here)}" if request.method == "GET" else "/login"
    if request.headers.get("hx-request"):
        # htmx would put the login page into a part of the one that is open.
        return Response(status_code=401, headers={"HX-Redirect": "/login"})
    return RedirectResponse(address, status_code=303)
