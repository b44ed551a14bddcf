"""The commit under test, by which the gate draws what it tries of collections too large to try whole."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def revision() -> str:
    """Its name; empty where there is no git."""
    command = ["git", "rev-parse", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
