"""A throw-away PostgreSQL cluster of the installed packages, for benchmarks and tests."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_SECONDS = 900.0
"""For one of its programs; a machine that stands still meanwhile is no failure."""


class PostgresError(RuntimeError):
    """PostgreSQL is not installed or does not start; the text says what it said."""


class Cluster:
    """A cluster in a folder that does not exist yet, on a unix socket; its settings as they come.

    `options` are settings as `-c` takes them. Raises PostgresError.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
        if not found:
            raise PostgresError("PostgreSQL is missing: apt-get install postgresql")
        self._programs = found[-1].parent
        self._user = "postgres" if os.getuid() == 0 else None  # PostgreSQL refuses to run as root.
        self._folder = folder
        self._options = options
        self.data = folder / "data"
        self.url = f"postgresql+psycopg://solmark@/{{name}}?host={folder}"
        """`{name}` stands for a database; `postgres` is there from the start."""
        folder.mkdir()
        if self._user:
            shutil.chown(folder, self._user)
        self._run("initdb", "-D", str(self.data), "-U", "solmark", "-A", "trust", "-E", "UTF8", "--no-sync")

    def start(self) -> None:
        """Start it; it answers when this returns."""
        settings = [f"-k {self._folder}", "-c listen_addresses=''", *(f"-c {each}" for each in self._options)]
        # Its output must not keep our pipe open, so it goes to a file.
        log = str(self._folder / "log")
        self._run("pg_ctl", "-D", str(self.data), "-w", "-l", log, "-o", " ".join(settings), "start")

    def stop(self) -> None:
        """End it at once, as a crash would."""
        self._run("pg_ctl", "-D", str(self.data), "-m", "immediate", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._programs / program, *arguments],
            user=self._user,
            group=self._user,
            extra_groups=[] if self._user else None,
            cwd=self._folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        if done.returncode != 0:
            raise PostgresError(f"{program}: {done.stdout}{done.stderr}")


@contextmanager
def cluster(*options: str) -> Iterator[str]:
    """URL of a running cluster, `{name}` standing for a database; everything is removed at the end."""
    scratch = Path(tempfile.mkdtemp(prefix="solmark-pg-"))
    scratch.chmod(0o755)  # The server runs as another user.
    try:
        running = Cluster(scratch / "cluster", *options)
        running.start()
        try:
            yield running.url
        finally:
            running.stop()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
