"""Reads a form out of a request, with limits so wide that the rules of what is handed in speak first."""

from collections.abc import Callable

from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request

from grader.contract import MAX_FILES
from server.errors import BodyTooLarge, DomainError, FilesRefused, Invalid
from server.settings import Settings

MAX_PARTS = 1000
"""Files, and as many fields, that are read of one form."""

MULTIPART = "multipart/form-data"
URLENCODED = "application/x-www-form-urlencoded"


def watch(content_type: str) -> Callable[[bytes, bool], None]:
    """A function to be shown a body as it comes (chunk, whether more will come), whoever reads the form.

    It raises `Invalid` for what the parser would not say: that the end is missing, and with it perhaps half a
    file; and for fields without number, each of which holds everybody else up.
    """
    kind, options = parse_options_header(content_type)
    boundary = options.get(b"boundary", b"")
    if kind.lower() == MULTIPART.encode() and boundary:
        return _Ending(boundary)
    return _Fields() if kind.lower() == URLENCODED.encode() else lambda _chunk, _more: None


class _Ending:
    """Whether the closing delimiter has come."""

    def __init__(self, boundary: bytes) -> None:
        self._delimiter = b"\r\n--" + boundary + b"--"
        self._tail = b"\r\n"
        self._any = self._found = False

    def __call__(self, chunk: bytes, more: bool) -> None:
        if not self._found:
            seen = self._tail + chunk
            self._any = self._any or bool(chunk)
            self._found = self._delimiter in seen
            self._tail = seen[-len(self._delimiter) :]
        if self._any and not more and not self._found:
            raise Invalid(
                field="form", why="its end is missing; send it again", why_zh="表单不完整，请重新发送"
            )


class _Fields:
    """How many fields have come, with those that hold nothing."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, chunk: bytes, _more: bool) -> None:
        self._count += chunk.count(b"&")
        if self._count >= MAX_PARTS:
            raise _too_many_fields()


def _too_many_fields() -> Invalid:
    return Invalid(field="form", why=f"at most {MAX_PARTS} fields", why_zh=f"最多 {MAX_PARTS} 个字段")


async def read(request: Request) -> FormData:
    """The form, read once for all who ask; its owner closes it.

    Raises `FilesRefused`, `Invalid` or `BodyTooLarge` for a form beyond the limits.
    """
    settings: Settings = request.app.state.settings
    try:
        return await request.form(
            max_files=MAX_PARTS, max_fields=MAX_PARTS, max_part_size=settings.body_bytes
        )
    except HTTPException as error:
        named = _named(error, settings)
        if named is None:
            raise
        raise named from error


def _named(error: HTTPException, settings: Settings) -> DomainError | None:
    """Our error for one of the parser, which has but one kind and tells them apart by sentences."""
    if error.status_code != 400:
        return None
    if error.detail.startswith("Too many files"):
        return FilesRefused(
            rule="too_many_files",
            why=f"More than {MAX_PARTS} files were handed in; at most {MAX_FILES} are taken.",
            why_zh=f"提交了超过 {MAX_PARTS} 个文件；最多接受 {MAX_FILES} 个。",
        )
    if error.detail.startswith("Too many fields"):
        return _too_many_fields()
    if error.detail.startswith("Missing boundary"):
        return Invalid(
            field="Content-Type",
            why="multipart/form-data needs its boundary",
            why_zh="multipart/form-data 缺少 boundary 参数",
        )
    if "exceeded maximum size" in error.detail:
        return BodyTooLarge(limit=settings.body_bytes)
    return None
