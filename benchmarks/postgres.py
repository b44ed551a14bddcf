"""A throw-away PostgreSQL server of the installed packages, with its settings as they come."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class PostgresError(RuntimeError):
    """PostgreSQL is not installed or does not start; the text says what it said."""


@contextmanager
def cluster(*options: str) -> Iterator[str]:
    """URL of a fresh cluster on a unix socket, `{name}` standing for a database; `options` as for `-c`.

    Raises PostgresError. Everything is removed at the end.
    """
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if not found:
        raise PostgresError("PostgreSQL is missing: apt-get install postgresql")
    programs = found[-1].parent
    user = "postgres" if os.getuid() == 0 else None  # PostgreSQL refuses to run as root.
    folder = Path(tempfile.mkdtemp(prefix="solmark-pg-"))
    data = folder / "data"
    if user:
        shutil.chown(folder, user)

    def run(program: str, *arguments: str) -> None:
        done = subprocess.run(
            [programs / program, *arguments],
            user=user,
            group=user,
            extra_groups=[] if user else None,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if done.returncode != 0:
            raise PostgresError(f"{program}: {done.stdout}{done.stderr}")

    try:
        run("initdb", "-D", str(data), "-U", "solmark", "-A", "trust", "-E", "UTF8")
        settings = [f"-k {folder}", "-c listen_addresses=''", *(f"-c {option}" for option in options)]
        # Its output must not keep our pipe open, so it goes to a file.
        run("pg_ctl", "-D", str(data), "-w", "-l", str(folder / "log"), "-o", " ".join(settings), "start")
        try:
            yield f"postgresql+psycopg://solmark@/{{name}}?host={folder}"
        finally:
            run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
