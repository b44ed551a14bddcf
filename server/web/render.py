"""Pages: one Jinja environment, what every template may use, and the reader's language in all of it."""

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from grader.contract import Language, Text, Verdict
from server.access import form_token
from server.db.models import Course, Submission, User
from server.grading.states import SubmissionState
from server.security import FORM_FIELD, SESSION_COOKIE
from server.web import charts, i18n, words
from server.web.words import Word

FOLDER = Path(__file__).parent
STATIC_FOLDER = FOLDER / "static"
_SOON = timedelta(hours=24)
_BOM = "\ufeff"
_SPANS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
"""Units in which the time until a deadline is told, and their seconds."""
"""Without it Excel does not read UTF-8."""


@dataclass(frozen=True)
class Reader:
    """Who reads a page, in which language, and whether the person is staff of any course.

    `known` is false where nobody could be asked who it is: after a failure of ours.
    """

    language: str
    user: User | None = None
    is_staff: bool = False
    known: bool = True

    def gettext(self, message: str, **values: object) -> str:
        """A message of the catalogue in the reader's language."""
        translated = i18n.catalogue(self.language).gettext(message)
        return translated % values if values else translated


def language_of(request: Request) -> str:
    """The language that a request asks for."""
    return i18n.choose(request.cookies.get(i18n.COOKIE), request.headers.get("accept-language"))


def page(
    request: Request,
    reader: Reader,
    template: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    back: str = "/",
    **context: Any,
) -> HTMLResponse:
    """The template as a response. Templates see `context`, the reader, and the helpers below.

    `back`: what to load for the same page in another language where this one answers a form.
    """
    html = (
        _environment(reader.language)
        .get_template(template)
        .render(
            request=request,
            path=request.url.path,
            here=_here(request) if request.method == "GET" else back,
            user=reader.user,
            is_staff=reader.is_staff,
            may_be_somebody=not reader.known and SESSION_COOKIE in request.cookies,
            csrf_field=lambda: form_token_field(request),
            **context,
        )
    )
    response = HTMLResponse(html, status_code=status, headers=dict(headers or {}))
    response.headers["Vary"] = "Cookie, Accept-Language"
    response.headers["Content-Language"] = i18n.html_tag(reader.language)
    response.headers.setdefault("Cache-Control", "no-store" if reader.user else "no-cache")
    return response


def csv_response(text: str, name: str) -> Response:
    """CSV as a file of that name to download."""
    return Response(
        (_BOM + text).encode(),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
    )


def form_token_field(request: Request) -> Markup:
    """The hidden field that shows that a form came from a page of this site."""
    return Markup('<input type="hidden" name="{}" value="{}">').format(FORM_FIELD, form_token(request))


@lru_cache
def static(name: str) -> str:
    """Address of a static file; it changes with the content, so that browsers may keep the file."""
    digest = hashlib.sha256((STATIC_FOLDER / name).read_bytes()).hexdigest()
    return f"/static/{name}?v={digest[:12]}"


def zone_of(course: Course | None) -> tzinfo:
    """The time zone in which a course's times are shown."""
    return ZoneInfo(course.timezone) if course else UTC


def outcome(submission: Submission) -> Word:
    """The verdict of a submission in words, or its state while there is none."""
    if submission.state in (SubmissionState.DONE, SubmissionState.GRADER_ERROR) and submission.verdict:
        return words.VERDICTS[submission.verdict]
    return words.STATES[submission.state.value]


def verdict_word(verdict: Verdict | None) -> Word:
    """A verdict in words; None is "not run"."""
    return words.NOT_RUN if verdict is None else words.VERDICTS[verdict]


def language_name(code: str) -> str:
    """Name of a submission's language; what we do not know keeps its code."""
    return words.LANGUAGES[Language(code)] if code in set(Language) else code


def percent(fraction: float | None) -> str:
    """A measured fraction as percent, e.g. `63.4 %`, `6.34 %`, `0.12 %`."""
    if fraction is None:
        return "–"
    value = fraction * 100
    return f"{value:.1f} %" if value >= 9.995 else f"{value:.2f} %"


def share(fraction: float) -> str:
    """A share of a whole as percent with at most one decimal: `40 %`, `12.5 %`."""
    return f"{fraction * 100:.1f}".removesuffix(".0") + " %"


def points(value: float | None) -> str:
    """Points with at most two decimals."""
    return "–" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


def scientific(value: float | None) -> str:
    """A number with three significant digits."""
    return "–" if value is None else f"{value:.3g}"


def duration(seconds: float | None, language: str) -> str:
    """A time span for people: `1.2 ms`, `12.3 s`, `4 min 10 s`, in Chinese `4 分 10 秒`."""
    if seconds is None:
        return "–"
    if seconds < 60:
        number, unit = charts.seconds_text(seconds).split(" ")
        return f"{number} {i18n.time_unit(unit, language)}"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{value} {i18n.time_unit(unit, language)}" for value, unit in parts if value)


def remaining(until: datetime, now: datetime, language: str) -> str:
    """The time left in its two largest units, as `3 d 4 h` or `4 min 10 s`; empty once it is over."""
    left = int((until - now).total_seconds())
    if left <= 0:
        return ""
    first = next(index for index, (_, size) in enumerate(_SPANS) if left >= size)
    parts = []
    for unit, size in _SPANS[first : first + 2]:
        value, left = divmod(left, size)
        parts.append(f"{value} {i18n.time_unit(unit, language)}")
    return " ".join(parts)


def is_soon(until: datetime, now: datetime) -> bool:
    """Whether a deadline is so near that a page must stress it."""
    return now < until <= now + _SOON


def byte_size(size: int) -> str:
    """Bytes with a binary prefix: `512 B`, `1.5 KiB`, `4 GiB`."""
    value, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.3g} {unit}"


def _here(request: Request) -> str:
    query = f"?{request.url.query}" if request.url.query else ""
    return request.url.path + query


@lru_cache
def _environment(language: str) -> Environment:
    catalogue = i18n.catalogue(language)
    environment = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    install: Callable[..., None] = environment.install_gettext_translations  # type: ignore[attr-defined]
    install(catalogue, newstyle=True)
    environment.globals.update(
        lang=language,
        languages=i18n.LANGUAGES,
        site_version=version("solmark"),
        html_tag=i18n.html_tag,
        static=static,
        title=lambda thing: thing.title_zh if language == "zh" else thing.title_en,
        localized=lambda text: i18n.localized(text, language),
        milestone_name=lambda milestone: i18n.milestone_name(milestone, language),
        moment=lambda value, zone: i18n.moment(value, language, zone),
        remaining=lambda value: remaining(value, datetime.now(UTC), language),
        now=time.time,
        time_units=" ".join(i18n.time_unit(symbol, language) for symbol, _ in _SPANS),
        is_soon=lambda value: is_soon(value, datetime.now(UTC)),
        distance=lambda value: i18n.distance(value, datetime.now(UTC), language),
        outcome=outcome,
        verdict_word=verdict_word,
        language_name=language_name,
        resource_name=lambda name: catalogue.gettext(words.RESOURCES.get(name, name)),
        bar=lambda low, value, high: charts.bar(charts.Interval(low, value, high), percent(value)),
        states=words.STATES,
        assignment_states=words.ASSIGNMENT_STATES,
        node_states=words.NODE_STATES,
        phases=words.PHASES,
        phase_order=list(words.PHASES),
        modes=words.MODES,
        roles=words.ROLES,
        notices=words.NOTICES,
    )
    environment.filters.update(
        percent=percent,
        share=share,
        points=points,
        scientific=scientific,
        duration=lambda seconds: duration(seconds, language),
        bytes=byte_size,
        language_name=language_name,
    )
    return environment


def warm_up() -> None:
    """Load what the first page of each kind would wait for: templates, and how dates are written."""
    now = datetime.now(UTC)
    for language in i18n.LANGUAGES:
        environment = _environment(language)
        for name in environment.list_templates():
            environment.get_template(name)
        i18n.moment(now, language, UTC)
        i18n.distance(now, now, language)


def localized_error(body: Mapping[str, Any], language: str) -> str:
    """The sentence of an error body (`server.errors`) in a language."""
    error = body.get("error", {})
    return i18n.localized(
        Text(
            code="error", en=str(error.get("message", ""))[:8192], zh=str(error.get("message_zh", ""))[:8192]
        ),
        language,
    )
