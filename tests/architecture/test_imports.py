"""The import rules of ARCHITECTURE.md, checked statically and by importing."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_import_contracts_hold() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _modules_after_importing(*names: str) -> set[str]:
    code = f"import sys\nfor name in {names!r}: __import__(name)\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    return set(done.stdout.split())


def test_the_server_never_loads_torch() -> None:
    loaded = _modules_after_importing("server.app", "server.tasks.app", "server.cli")
    assert "torch" not in loaded
    assert "triton" not in loaded


def test_the_grader_is_light() -> None:
    loaded = _modules_after_importing("grader.cli.main", "grader.session", "grader.contract")
    assert not loaded & {"torch", "celery", "fastapi", "sqlalchemy", "server"}


def test_task_types_do_not_load_torch() -> None:
    assert "torch" not in _modules_after_importing("grader.task", "grader.assignment", "grader.sol")
