"""Pages for logging in and out, the language, and one's own account."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse
from sqlalchemy.orm import Session

from server import security
from server.access import AppSettings, CheckedForm, CurrentUser, Db, client_address
from server.accounts import service
from server.db.models import User
from server.errors import DomainError
from server.schemas import Id, PlainText
from server.settings import Settings
from server.web import forms, i18n
from server.web.reader import PageReader
from server.web.render import Reader, page, zone_of
from server.web.words import N_, SCOPES

router = APIRouter(include_in_schema=False)
_YEAR_SECONDS = 365 * 86400
_TOKENS = 200
"""Tokens on the page; the API has them all."""
Text = Annotated[PlainText, Form()]


@router.get("/login")
def login_page(request: Request, reader: PageReader, next: str = "/") -> Response:  # noqa: A002
    """The form; who is logged in already goes on."""
    if reader.user is not None:
        return RedirectResponse(forms.local_address(next), status_code=303)
    return page(request, reader, "login.html", fault=None, login="", next=forms.local_address(next))


@router.post("/login", dependencies=[CheckedForm])
def log_in(
    request: Request,
    reader: PageReader,
    session: Db,
    settings: AppSettings,
    login: Text,
    password: Text,
    next: Text = "/",  # noqa: A002
) -> Response:
    """Open a session, or show the form again with the reason."""
    try:
        user = service.log_in(
            session, settings, login=login, password=password, address=client_address(request)
        )
    except DomainError as error:
        wanted = forms.local_address(next)
        return page(
            request, reader, "login.html", status=error.status, headers=error.headers,
            back=f"/login?next={quote(wanted)}", fault=_sentence(error, reader), login=login[:64],
            next=wanted,
        )  # fmt: skip
    response = RedirectResponse(forms.local_address(next), status_code=303)
    security.set_session_cookie(response, settings, service.open_session(session, settings, user))
    return response


@router.post("/logout", dependencies=[CheckedForm])
def log_out(request: Request, session: Db, settings: AppSettings) -> Response:
    """Close the session."""
    service.close_session(session, settings, request.cookies.get(security.SESSION_COOKIE, ""))
    response = RedirectResponse("/login?notice=logged_out", status_code=303)
    security.clear_session_cookie(response, settings)
    return response


@router.post("/language", dependencies=[CheckedForm])
def choose_language(settings: AppSettings, language: Text, next: Text = "/") -> Response:  # noqa: A002
    """Remember the reader's language and go back."""
    response = RedirectResponse(forms.local_address(next), status_code=303)
    if language in i18n.LANGUAGES:
        response.set_cookie(
            i18n.COOKIE, language, max_age=_YEAR_SECONDS, httponly=True, samesite="lax",
            secure=settings.cookies_secure,
        )  # fmt: skip
    return response


@router.get("/account")
def account_page(
    request: Request, reader: PageReader, session: Db, settings: AppSettings, user: CurrentUser
) -> Response:
    """API tokens and password."""
    return _account(request, reader, session, settings, user)


@router.post("/account/tokens", dependencies=[CheckedForm])
def create_token(
    request: Request, reader: PageReader, session: Db, settings: AppSettings, user: CurrentUser, name: Text
) -> Response:
    """Make a token and show it, this once."""
    try:
        _, secret = service.create_token(session, user, name=name.strip())
    except DomainError as error:
        return _account(request, reader, session, settings, user, error=error)
    return _account(request, reader, session, settings, user, secret=secret)


@router.post("/account/tokens/{token_id}/revoke", dependencies=[CheckedForm])
def revoke_token(session: Db, user: CurrentUser, token_id: Id) -> Response:
    """Make a token worthless."""
    service.revoke_token(session, user, token_id)
    return RedirectResponse("/account?notice=revoked", status_code=303)


@router.post("/account/password", dependencies=[CheckedForm])
def change_password(
    request: Request,
    reader: PageReader,
    session: Db,
    settings: AppSettings,
    user: CurrentUser,
    current: Text,
    new: Text,
    again: Text,
) -> Response:
    """Set a new password; other browsers are logged out, this one stays."""
    if new != again:
        return _account(request, reader, session, settings, user, fault=N_("The two new passwords differ."))
    try:
        service.log_in(session, settings, login=user.login, password=current, address=client_address(request))
        service.set_password(session, settings, user, new)
    except DomainError as error:
        return _account(request, reader, session, settings, user, error=error)
    response = RedirectResponse("/account?notice=password", status_code=303)
    security.set_session_cookie(response, settings, service.open_session(session, settings, user))
    return response


def _account(
    request: Request,
    reader: Reader,
    session: Session,
    settings: Settings,
    user: User,
    *,
    secret: str = "",
    fault: str = "",
    error: DomainError | None = None,
) -> Response:
    sentence = _sentence(error, reader) if error else fault and reader.gettext(fault)
    return page(
        request,
        reader,
        "account.html",
        status=error.status if error else 422 if fault else 200,
        back="/account",
        secret=secret,
        fault=sentence,
        tokens=service.tokens(session, user, limit=_TOKENS),
        scopes=SCOPES,
        zone=zone_of(None),
        site=settings.public_url,
        password_length=service.MIN_PASSWORD,
    )


def _sentence(error: DomainError, reader: Reader) -> str:
    return error.message_zh if reader.language == "zh" else error.message
