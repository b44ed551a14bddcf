"""Every process of a site is killed while students hand in, on both databases; small enough for CI."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUBMISSIONS = 24


@pytest.mark.timeout(600)
def test_nothing_is_lost_double_or_stuck(tmp_path: Path) -> None:
    """One seed, drawn anew and printed. `make chaos N=1000` is the same at size."""
    command = [
        *(sys.executable, "-m", "tests.chaos", "--submissions", str(SUBMISSIONS), "--sandboxed", "2"),
        *("--students", "4", "--workers", "1", "--pause", "1.2", "--keep", str(tmp_path / "logs")),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    sys.stdout.write(said)
    assert done.returncode == 0, said
    last = re.search(r"^submitted (\d+), final (\d+), lost 0, double 0, stuck 0$", said, re.MULTILINE)
    assert last is not None
    assert int(last[1]) == int(last[2]) >= SUBMISSIONS
