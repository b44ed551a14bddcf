"""The files of a submission: taken or refused, and the digest that equal hand-ins share."""

import hashlib
from collections.abc import Mapping

from grader import languages, upload
from grader.contract import MAX_FILE_BYTES, Language
from server.errors import FilesRefused, FilesTooLarge


def unpack(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """The same files, and in place of every archive the files in it. Raises `FilesRefused`.

    It happens in memory: nothing is written before all of it is known to be plain files with plain names.
    """
    try:
        return upload.expand(files)
    except languages.FilesError as error:
        raise _refused(error) from error


def check(files: Mapping[str, bytes], language: Language | None, entry: str) -> tuple[Language, str]:
    """The language of the files and the name of their entry file; `entry` is the function they must define.

    Raises `FilesTooLarge`, or `FilesRefused` with the first rule that they break. Nothing is executed.
    """
    size = sum(map(len, files.values()))
    if size > MAX_FILE_BYTES:
        raise FilesTooLarge(size=size, limit=MAX_FILE_BYTES)
    try:
        return languages.detect(files, language, entry=entry)
    except languages.FilesError as error:
        raise _refused(error) from error


def refuse_repeated(name: str) -> FilesRefused:
    """The error for two files of one name."""
    return FilesRefused(
        rule="repeated_name",
        why=f"Two files are called {name!r}: rename one.",
        why_zh=f"有两个文件同名（{name!r}），请重命名其中一个。",
    )


def _refused(error: languages.FilesError) -> FilesRefused:
    return FilesRefused(rule=error.text.code, why=error.text.en, why_zh=error.text.zh)


def content_digest(files: Mapping[str, bytes], language: Language) -> str:
    """Digest over language, names and contents: equal for hand-ins that are the same."""
    found = hashlib.sha256(language.value.encode())
    for name in sorted(files):
        found.update(b"\0" + name.encode() + b"\0" + hashlib.sha256(files[name]).digest())
    return found.hexdigest()
