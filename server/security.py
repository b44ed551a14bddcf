"""What browsers are told and asked: cookies, security headers, and which site sent a request."""

from urllib.parse import urlsplit

from fastapi.security.utils import get_authorization_scheme_param
from starlette.requests import HTTPConnection
from starlette.responses import Response

from server.settings import Settings

SESSION_COOKIE = "solmark_session"
FORM_FIELD = "form_token"
FORM_HEADER = "X-Solmark-Form"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})

CONTENT_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not `no-referrer`: browsers would then send `Origin: null` with forms of our own pages.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def set_session_cookie(response: Response, settings: Settings, value: str) -> None:
    """Log the browser in: not readable by scripts, not sent with requests that other sites start."""
    response.set_cookie(
        SESSION_COOKIE, value, max_age=settings.session_days * 86400, path="/", httponly=True, samesite="lax",
        secure=settings.cookies_secure,
    )  # fmt: skip


def clear_session_cookie(response: Response, settings: Settings) -> None:
    """Log the browser out."""
    response.delete_cookie(
        SESSION_COOKIE, path="/", httponly=True, samesite="lax", secure=settings.cookies_secure
    )


def bearer(request: HTTPConnection) -> str | None:
    """The token in the `Authorization` header, if there is one."""
    scheme, value = get_authorization_scheme_param(request.headers.get("authorization"))
    return value if scheme.lower() == "bearer" and value else None


def same_origin(settings: Settings, request: HTTPConnection) -> bool | None:
    """Whether our page sent the request: by `Origin` or `Sec-Fetch-Site`; None if neither came."""
    origin = request.headers.get("origin")
    if origin is not None:
        try:
            host = urlsplit(origin).netloc
        except ValueError:
            return False
        return host != "" and host in {request.headers.get("host"), urlsplit(settings.public_url).netloc}
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    return None
