"""The two databases under a chaos run, and the ways in which they fail."""

import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg

from benchmarks.postgres import Cluster, PostgresError

_FUNCTION = """
CREATE OR REPLACE FUNCTION chaos_refuses() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'chaos refuses report on %', NEW.submission_id; END $$
"""


class Sqlite:
    """A file: it cannot be restarted, only be held by somebody else for too long."""

    name = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._path = folder / "solmark.db"
        self.url = f"sqlite:///{self._path}"

    def restart(self, seconds: float, *, kill: bool) -> None:
        """Nobody can write for so long."""
        with self._connected() as connection:
            connection.execute("BEGIN EXCLUSIVE")
            time.sleep(seconds)
            connection.execute("ROLLBACK")

    def number_of(self, public_id: str) -> int:
        """The row of a submission."""
        with self._connected() as connection:
            found = connection.execute(
                "SELECT id FROM submissions WHERE public_id = ?", [public_id]
            ).fetchone()
        return int(found[0])

    def refuse_reports(self, number: int) -> None:
        """From now on no Report on this submission can be stored."""
        with self._connected() as connection:
            connection.execute(
                f"CREATE TRIGGER chaos BEFORE INSERT ON reports WHEN NEW.submission_id = {number} "
                f"BEGIN SELECT RAISE(ABORT, 'chaos refuses report on {number}'); END"
            )

    def take_reports(self) -> None:
        """Reports can be stored again."""
        with self._connected() as connection:
            connection.execute("DROP TRIGGER IF EXISTS chaos")

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=60.0, isolation_level=None)) as connection:
            yield connection

    def close(self) -> None:
        """Nothing runs."""


class Postgres:
    """A cluster of the installed Debian packages, in a folder of its own."""

    name = "postgresql"

    def __init__(self, folder: Path) -> None:
        self._cluster = Cluster(folder, "fsync=off", "max_connections=100")
        self._cluster.start()
        self._dsn = f"host={folder} user=solmark dbname=postgres"
        self.url = self._cluster.url.format(name="postgres")

    def restart(self, seconds: float, *, kill: bool) -> None:
        """It ends at once (killed with all of its processes, or told to) and comes back after a while."""
        if kill:
            pid = int((self._cluster.data / "postmaster.pid").read_text().split()[0])
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                subprocess.run(["kill", "-9", child], check=False, capture_output=True)
            subprocess.run(["kill", "-9", str(pid)], check=True)
        else:
            self._cluster.stop()
        time.sleep(seconds)
        for left in range(20, -1, -1):
            try:
                self._cluster.start()
                return
            except PostgresError:
                if not left:
                    raise
                time.sleep(0.5)  # Its killed processes hold their shared memory for a moment.

    def number_of(self, public_id: str) -> int:
        """The row of a submission."""
        with psycopg.connect(self._dsn) as connection:
            found = connection.execute(
                "SELECT id FROM submissions WHERE public_id = %s", [public_id]
            ).fetchone()
        assert found is not None
        return int(found[0])

    def refuse_reports(self, number: int) -> None:
        """From now on no Report on this submission can be stored."""
        with psycopg.connect(self._dsn) as connection:
            connection.execute(_FUNCTION)
            connection.execute(
                "CREATE TRIGGER chaos BEFORE INSERT ON reports FOR EACH ROW "
                f"WHEN (NEW.submission_id = {int(number)}) EXECUTE FUNCTION chaos_refuses()".encode()
            )

    def take_reports(self) -> None:
        """Reports can be stored again."""
        with psycopg.connect(self._dsn) as connection:
            connection.execute("DROP TRIGGER IF EXISTS chaos ON reports")

    def close(self) -> None:
        """Stop it."""
        self._cluster.stop()


DATABASES = {"sqlite": Sqlite, "postgresql": Postgres}
