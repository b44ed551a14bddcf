"""Reads a form out of a request, with limits so wide that the rules of what is handed in speak first."""

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request

from grader.contract import MAX_FILES
from server.errors import BodyTooLarge, DomainError, FilesRefused, Invalid
from server.settings import Settings

MAX_PARTS = 1000
"""Files, and as many fields, that are read of one form."""


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
        return Invalid(field="form", why=f"at most {MAX_PARTS} fields", why_zh=f"最多 {MAX_PARTS} 个字段")
    if error.detail.startswith("Missing boundary"):
        return Invalid(
            field="Content-Type",
            why="multipart/form-data needs its boundary",
            why_zh="multipart/form-data 缺少 boundary 参数",
        )
    if "exceeded maximum size" in error.detail:
        return BodyTooLarge(limit=settings.body_bytes)
    return None
