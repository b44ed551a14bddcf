"""Who may import what, as lists of what is allowed: whatever is not on them is refused."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CANDIDATE = sorted((ROOT / "grader/candidate").rglob("*.py"))
SERVER = sorted((ROOT / "server").rglob("*.py"))

CANDIDATE_MAY = {*sys.stdlib_module_names, "torch", "triton", "numpy"}
"""Beside relative imports of itself; ranks run on numpy, so that eight of them start in half a second."""

SERVER_MAY = {
    "grader.archive": "unpacks what students hand in, by the same rules as the command line",
    "grader.assignment": "finds and validates an assignment when it is published",
    "grader.broker": "the queue's settings, which both of its ends must share",
    "grader.bundle": "writes and reads the archive of an assignment",
    "grader.contract": "all that crosses the wire",
    "grader.course": "the model of assignments/course.toml",
    "grader.hardware.profile": "the demo asks whether this machine was calibrated",
    "grader.languages": "which files make a submission",
    "grader.logs": "the form of log lines, which node and server share",
    "grader.manifest": "what was evaluated of an assignment, beside its bundle",
    "grader.scoring": "pure functions: points, comparison, groups of equal rank",
    "grader.spec": "types of assignment.toml that the manifest holds",
    "grader.transcript": "what a Report holds of a dialogue, as the file that `solmark replay` reads",
    "grader.upload": "the rules for what is handed in",
}
"""Why each: docs/decisions/0014-what-the-server-imports-of-the-grader.md."""


def _imported(path: Path) -> Iterator[str]:
    """Modules that a file imports, at its top or within a function; `.x` for relative ones."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            inside = ROOT.joinpath(*module.split(".")).is_dir() if not node.level else False
            # `from package import module` names the module; `from module import thing` does not.
            yield from (f"{module}.{name.name}" for name in node.names) if inside else (module,)


def _not_on(allowed: set[str], path: Path) -> list[str]:
    """What the file imports beyond those packages and, with one dot, its own neighbours."""
    return [
        name
        for name in _imported(path)
        if not (name.startswith(".") and not name.startswith("..")) and name.partition(".")[0] not in allowed
    ]


def _of_the_grader(path: Path) -> set[str]:
    return {name for name in _imported(path) if name.partition(".")[0] == "grader"}


@pytest.mark.parametrize("path", CANDIDATE, ids=lambda path: path.name)
def test_the_harness_imports_the_standard_library_torch_triton_and_itself(path: Path) -> None:
    assert _not_on(CANDIDATE_MAY, path) == []


def test_the_server_imports_what_is_listed_and_nothing_is_listed_in_vain() -> None:
    found = {name: path for path in SERVER for name in _of_the_grader(path)}
    unlisted = {name: str(path.relative_to(ROOT)) for name, path in found.items() if name not in SERVER_MAY}
    assert unlisted == {}
    assert set(SERVER_MAY) == set(found)


def test_the_check_sees_every_form_of_import(tmp_path: Path) -> None:
    source = tmp_path / "bad.py"
    source.write_text(
        "import os\nimport scipy.linalg as la\nfrom . import frames\nfrom .link import Link\n"
        "from ..judge import arena\nfrom grader import session\nfrom grader.judge import clock\n"
        "def late():\n    from grader.sandbox.base import Backend\n"
    )
    assert _not_on(CANDIDATE_MAY, source) == [
        "scipy.linalg",
        "..judge",
        "grader.session",
        "grader.judge.clock",
        "grader.sandbox.base",
    ]
    assert _of_the_grader(source) == {"grader.session", "grader.judge.clock", "grader.sandbox.base"}


def test_the_server_loads_nothing_of_judge_harness_and_sandbox() -> None:
    code = "import sys, server.app, server.tasks.app, server.cli\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    loaded = set(done.stdout.split())
    refused = {"grader.judge", "grader.candidate", "grader.sandbox", "grader.session", "torch", "triton"}
    assert not refused & {".".join(name.split(".")[:n]) for name in loaded for n in (1, 2)}
    assert "grader.upload" in loaded
