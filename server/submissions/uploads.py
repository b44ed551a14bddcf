"""Reads a submission out of a request: a form with files, a form with pasted text, or JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.requests import Request

from grader.contract import OFFERED_MODES, Language, Mode
from server import formdata
from server.errors import Invalid, NotLoggedIn
from server.security import SESSION_COOKIE
from server.submissions.files import refuse_repeated
from server.submissions.schemas import SubmissionBody

FORM_FILES = "files"
FORM_SOURCE = "source"
FORM_NAME = "filename"


@dataclass(frozen=True)
class Upload:
    """What somebody hands in, not yet checked."""

    files: Mapping[str, bytes]
    mode: Mode
    language: Language | None
    hardware: str | None


async def read_upload(request: Request) -> Upload:
    """The submission in a request's body.

    A form has parts `files`, or fields `source` and `filename`; `mode`, `language`, `hardware` are optional.
    Raises `NotLoggedIn`, `FilesRefused`, `Invalid` or `RequestValidationError`.
    """
    # Who is asking is looked up later, in a transaction that must not wait for a slow upload.
    if "authorization" not in request.headers and SESSION_COOKIE not in request.cookies:
        raise NotLoggedIn
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        return _from_json(await request.body())
    if kind not in {"multipart/form-data", "application/x-www-form-urlencoded"}:
        raise Invalid(
            field="Content-Type",
            why="multipart/form-data or application/json is needed",
            why_zh="须为 multipart/form-data 或 application/json",
        )
    form = await formdata.read(request)
    try:
        files: dict[str, bytes] = {}
        for part in form.getlist(FORM_FILES):
            if not isinstance(part, UploadFile):
                raise Invalid(
                    field=FORM_FILES, why="parts with file names are needed", why_zh="须为带文件名的部分"
                )
            if part.filename or part.size:  # A browser sends an empty part for an empty field.
                _add(files, part.filename or "", await part.read())
        source, name = form.get(FORM_SOURCE), form.get(FORM_NAME)
        if isinstance(source, str) and source.strip():
            # A browser sends CRLF from a text field.
            text = source.replace("\r\n", "\n")
            _add(
                files,
                name if isinstance(name, str) and name else "solution.py",
                text.encode("utf-8", "replace"),
            )
        fields = {key: form.get(key) or None for key in ("mode", "language", "hardware")}
    finally:
        await form.close()
    checked = _validated({"files": {"-": ""}, **{key: value for key, value in fields.items() if value}})
    return Upload(files, checked.mode, checked.language, checked.hardware)


Uploaded = Annotated[Upload, Depends(read_upload)]

DOCUMENTED: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": SubmissionBody.model_json_schema()},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        FORM_FILES: {"type": "array", "items": {"type": "string", "format": "binary"}},
                        FORM_SOURCE: {"type": "string"},
                        FORM_NAME: {"type": "string"},
                        "mode": {"type": "string", "enum": [mode.value for mode in OFFERED_MODES]},
                        "language": {"type": "string", "enum": [language.value for language in Language]},
                        "hardware": {"type": "string"},
                    },
                }
            },
        },
    }
}
"""The body in OpenAPI."""


def _from_json(data: bytes) -> Upload:
    try:
        value = json.loads(data, object_pairs_hook=_refuse_repeated)
    except (ValueError, RecursionError) as error:
        raise Invalid(field="body", why=f"not JSON: {error}", why_zh="不是有效的 JSON") from None
    checked = _validated(value)
    try:
        files = {name: text.encode("utf-8") for name, text in checked.files.items()}
    except UnicodeEncodeError:
        raise Invalid(field="files", why="text is needed", why_zh="须为文本") from None
    return Upload(files, checked.mode, checked.language, checked.hardware)


def _validated(value: Any) -> SubmissionBody:
    try:
        return SubmissionBody.model_validate(value)
    except ValidationError as error:
        raise RequestValidationError(
            [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors(include_input=False)]
        ) from None


def _add(files: dict[str, bytes], name: str, data: bytes) -> None:
    if name in files:
        raise refuse_repeated(name)
    files[name] = data


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for name, item in pairs:
        if name in value:
            raise refuse_repeated(name)
        value[name] = item
    return value
