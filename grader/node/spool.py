"""Reports on this node's disk, from before they are sent until the server has stored them."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from grader.contract import ContractError, Report, read

KEPT_SECONDS = 7 * 86400
"""A Report that nobody acknowledged for so long is dropped: its attempt is long over."""


class Spool:
    """A folder of Reports, one file for each attempt; safe to share between the workers of a node."""

    def __init__(self, folder: Path) -> None:
        """The folder is made when first needed."""
        self._folder = folder

    def save(self, report: Report) -> Path:
        """Write the Report so that it survives a crash; the same attempt replaces its file."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._path(report.submission, report.attempt)
        partial = path.with_suffix(f".{os.getpid()}")
        with partial.open("w", encoding="utf-8") as file:
            file.write(report.model_dump_json())
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        return path

    def load(self, submission: str, attempt: int) -> Report | None:
        """The Report of one attempt, if it is here and can be read."""
        try:
            return read(Report, self._path(submission, attempt).read_bytes())
        except (FileNotFoundError, ContractError):
            return None

    def remove(self, report: Report) -> None:
        """The server has it."""
        self._path(report.submission, report.attempt).unlink(missing_ok=True)

    def pending(self, min_age_seconds: float = 0.0) -> Iterator[Report]:
        """Reports not yet acknowledged, oldest first; what is unreadable or too old is removed."""
        if not self._folder.is_dir():
            return
        for path in sorted(self._folder.glob("*.json"), key=_modified):
            age = time.time() - _modified(path)
            if age < min_age_seconds:
                continue
            try:
                report = read(Report, path.read_bytes())
            except FileNotFoundError:
                continue
            except ContractError:
                path.unlink(missing_ok=True)
                continue
            if age > KEPT_SECONDS:
                path.unlink(missing_ok=True)
                continue
            yield report

    def _path(self, submission: str, attempt: int) -> Path:
        # The id comes from the server, which this node believes; still no path in it may leave the folder.
        name = "".join(c if c.isalnum() or c in "-_" else "_" for c in submission)
        return self._folder / f"{name}.{attempt}.json"


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
