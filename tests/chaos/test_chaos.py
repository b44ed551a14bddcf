"""Every process of a site is killed while students hand in, on both databases; small enough for CI."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.assignment import made

ROOT = Path(__file__).parents[2]
SUBMISSIONS = 12


@pytest.mark.timeout(600)
def test_nothing_is_lost_double_or_stuck(tmp_path: Path) -> None:
    """One seed, drawn anew and printed. `make chaos N=1000` is the same at size."""
    made(tmp_path / "bundles")
    runs = {}
    for name, workers in (("sqlite", 1), ("postgresql", 2)):
        command = [
            *(sys.executable, "-m", "tests.chaos", "--database", name, "--keep", str(tmp_path / name)),
            *("--submissions", str(SUBMISSIONS), "--sandboxed", "1", "--students", "4"),
            *("--workers", str(workers), "--pause", "0.3", "--bundles", str(tmp_path / "bundles")),
        ]
        runs[name] = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    said = {name: run.communicate()[0] for name, run in runs.items()}
    for name, run in runs.items():
        sys.stdout.write(said[name])
        assert run.returncode == 0, said[name]
        last = re.search(
            r"^submitted (\d+), final (\d+), lost 0, double 0, stuck 0$", said[name], re.MULTILINE
        )
        assert last is not None
        assert int(last[1]) == int(last[2]) >= SUBMISSIONS
