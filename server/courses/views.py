"""What the pages of courses show: targets with their limits, the text of an assignment and its pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from urllib.parse import quote

from grader import archive
from grader.contract import JobLimits
from grader.manifest import Manifest
from grader.spec import MilestoneSpec
from server.blobs import BlobStore, MissingBlobError
from server.errors import NotFound
from server.web import markdown
from server.web.markdown import Document
from server.web.render import Reader, byte_size, duration
from server.web.words import LIMITS

_IMAGES = {
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
_PRIVATE = frozenset({"hidden", "reference"})


@dataclass(frozen=True)
class ShownTarget:
    """A target as the page shows it; limits are pairs of name and value."""

    hardware: str
    devices: int
    languages: Sequence[str]
    limits: Sequence[tuple[str, str]]
    milestones: Sequence[MilestoneSpec]


def targets(manifest: Manifest, reader: Reader) -> list[ShownTarget]:
    """All targets of an assignment."""
    return [
        ShownTarget(
            target.hardware,
            target.devices,
            target.languages or manifest.languages,
            _limits(target.limits, reader),
            target.milestones,
        )
        for target in manifest.targets
    ]


@lru_cache(maxsize=256)
def spec(readme: str, files: str) -> Document:
    """The text as HTML without its own title, which the page already has; `files` is where pictures are."""
    title, _, rest = readme.lstrip().partition("\n")
    return markdown.render(rest if title.startswith("# ") else readme, lambda path: files + quote(path))


def picture(blobs: BlobStore, digest: str, path: str) -> tuple[bytes, str]:
    """A picture of a bundle with its media type; raises `NotFound` for anything else that is in it."""
    kind = _IMAGES.get(PurePosixPath(path).suffix.lower())
    if kind is None or PurePosixPath(path).parts[0] in _PRIVATE:
        raise NotFound(what="file")
    content = _member(blobs, digest, path)
    if content is None:
        raise NotFound(what="file")
    return content, kind


@lru_cache(maxsize=256)
def _member(blobs: BlobStore, digest: str, path: str) -> bytes | None:
    try:
        return archive.read(blobs.read(digest)).get(path)
    except MissingBlobError:
        raise NotFound(what="file") from None


def _limits(limits: JobLimits, reader: Reader) -> list[tuple[str, str]]:
    shown: list[tuple[str, str]] = []
    for field, name in LIMITS.items():
        value = getattr(limits, field)
        if value is None:
            continue
        if field.endswith("_bytes"):
            text = byte_size(value)
        else:
            text = duration(value, reader.language) if field.endswith("_seconds") else str(value)
        shown.append((reader.gettext(name), text))
    return shown
