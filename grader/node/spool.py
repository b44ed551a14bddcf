"""Reports on this node's disk, from before they are sent until the server has dealt with them."""

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import structlog

from grader.contract import ContractError, JobSpec, Report, read, stored_key

KEPT_SECONDS = 7 * 86400
"""A Report that nobody acknowledged for so long is dropped: its attempt is long over."""
log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Spooled:
    """One Report as it is sent, byte for byte, each time it is sent."""

    path: Path
    text: str

    @property
    def stored_key(self) -> str:
        """The broker's key that says that the server has it."""
        return stored_key(hashlib.sha256(self.text.encode()).hexdigest())

    def remove(self) -> None:
        """The server has it."""
        self.path.unlink(missing_ok=True)


class Spool:
    """A folder of Reports, one file for each attempt."""

    def __init__(self, folder: Path) -> None:
        """The folder is made when first needed."""
        self._folder = folder
        self._unreadable: set[Path] = set()
        """Of which the log was told."""

    def save(self, report: Report) -> Spooled:
        """Write the Report so that it survives a crash; the same attempt replaces its file.

        A full disk is logged and no more: the Report can still be sent.
        """
        spooled = Spooled(self._path(report.token), report.model_dump_json())
        partial = spooled.path.with_suffix(f".{os.getpid()}")
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with partial.open("w", encoding="utf-8") as file:
                file.write(spooled.text)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(spooled.path)
        except OSError as error:
            log.error("report not spooled", cause=str(error))
            with contextlib.suppress(OSError):
                partial.unlink()
        return spooled

    def find(self, job: JobSpec) -> Spooled | None:
        """The Report of a job that was graded before, if it is still here."""
        return self._load(self._path(job.token))

    def pending(self) -> Iterator[Spooled]:
        """Reports not yet acknowledged; what is no Report or too old is removed.

        What the disk does not give is left out, for now: the others go their way.
        """
        if not self._folder.is_dir():
            return
        for path in sorted(self._folder.glob("*.json")):
            spooled = self._load(path)
            if spooled is None:
                continue
            try:
                age = time.time() - path.stat().st_mtime
            except FileNotFoundError:  # Another worker of this name has removed it.
                continue
            if age > KEPT_SECONDS:
                spooled.remove()
                continue
            yield spooled

    def count(self) -> int:
        """How many Reports wait for their acknowledgement."""
        return sum(1 for _ in self._folder.glob("*.json")) if self._folder.is_dir() else 0

    def _path(self, token: str) -> Path:
        return self._folder / f"{hashlib.sha256(token.encode()).hexdigest()}.json"

    def _load(self, path: Path) -> Spooled | None:
        try:
            text = path.read_text(encoding="utf-8")
            read(Report, text)
        except FileNotFoundError:
            return None
        except (ContractError, UnicodeDecodeError):
            path.unlink(missing_ok=True)
            return None
        except OSError as error:
            if path not in self._unreadable:
                log.error("report not read", path=str(path), cause=str(error))
                self._unreadable.add(path)
            return None
        return Spooled(path, text)
