"""The judge never evaluates, unpickles or loads what a candidate sent: its code has no such call."""

import ast
from pathlib import Path

import pytest

GRADER = Path(__file__).parents[2] / "grader"
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_ATTRIBUTES = {"torch.load", "numpy.load", "np.load", "ctypes.CDLL", "importlib.import_module"}
SOURCES = sorted([*(GRADER / "judge").rglob("*.py"), GRADER / "session.py"])


def _calls(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_call_that_could_run_candidate_code(path: Path) -> None:
    assert not _calls(path) & (FORBIDDEN_CALLS | FORBIDDEN_ATTRIBUTES)


def test_the_check_sees_such_calls(tmp_path: Path) -> None:
    source = tmp_path / "bad.py"
    source.write_text("import torch\nx = torch.load('answer')\neval('1')\n")
    assert _calls(source) & (FORBIDDEN_CALLS | FORBIDDEN_ATTRIBUTES) == {"eval", "torch.load"}
