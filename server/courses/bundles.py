"""Assignment bundles as the server reads them: the manifest and plain files, never their code."""

import json
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from grader import bundle, manifest
from grader.manifest import Manifest
from grader.spec import TargetSpec
from server.db.models import AssignmentVersion
from server.errors import BundleRefused

_SHOWN = 8
"""Keys named of a manifest that disagrees with its archive."""


@dataclass(frozen=True)
class Unpacked:
    """A bundle with what is derived from it."""

    manifest: Manifest
    starter: bytes
    """Zip for students."""
    readme_en: str
    readme_zh: str


def unpack(archive: bytes, manifest_json: bytes | str) -> Unpacked:
    """Check an archive against its manifest and take out what people see. Raises `BundleRefused`."""
    try:
        found = manifest.read(manifest_json)
        with tempfile.TemporaryDirectory(prefix="solmark-bundle-") as folder:
            assignment = bundle.read(archive, Path(folder) / "bundle", found.digest)
            if differing := manifest.disagreements(found, assignment):
                keys = ", ".join(differing[:_SHOWN])
                raise BundleRefused(why=f"the manifest is not that of the archive: {keys}; bundle it again")
            readmes = assignment.readme("en"), assignment.readme("zh")
            stored = json.dumps(found.model_dump(mode="json"), allow_nan=False, ensure_ascii=False)
            if "\0" in "".join(readmes) or "\\u0000" in stored:
                raise BundleRefused(why="a text has a NUL character, which a database cannot keep")
            return Unpacked(found, bundle.starter_zip(assignment), *readmes)
    except (ValueError, RecursionError) as error:
        # ArchiveError, ManifestError, AssignmentError, and text or numbers that cannot be what they should.
        raise BundleRefused(why=str(error)) from error


def manifest_of(version: AssignmentVersion) -> Manifest:
    """The manifest of a published version."""
    return _parsed(json.dumps(version.manifest))


def target_of(found: Manifest, hardware: str) -> TargetSpec | None:
    """The target of that hardware class, None if the assignment has none."""
    return next((target for target in found.targets if target.hardware == hardware), None)


@lru_cache(maxsize=64)
def _parsed(text: str) -> Manifest:
    # Through JSON: pydantic's strict mode then takes an array for a tuple and a string for an enum.
    return manifest.read(text)
