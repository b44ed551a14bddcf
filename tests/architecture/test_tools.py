"""Style and types are part of the suite: what `make lint` would change or refuse fails here."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "arguments",
    [("ruff", "format", "--check", "."), ("ruff", "check", "."), ("mypy",)],
    ids=" ".join,
)
def test_tool_is_content(arguments: tuple[str, ...]) -> None:
    program = Path(sys.executable).with_name(arguments[0])
    done = subprocess.run(
        [program, *arguments[1:]], cwd=ROOT, capture_output=True, text=True, check=False, timeout=580
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
