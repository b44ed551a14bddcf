"""The corpus itself: programs that differ in what they do, not in a constant."""

import ast
import re
from pathlib import Path

from tests.hostile import corpus

LEAST = 90


def shape(path: Path) -> str:
    """A program without its comments and constants, and without what all have in common."""
    text = path.read_text()
    if path.suffix == ".cpp":
        text = re.sub(r"//.*|/\*.*?\*/", "", text)
        return " ".join(re.sub(r'"[^"]*"|\d+', "0", text).split())
    tree = ast.parse(text)
    tree.body = [
        one
        for one in tree.body
        if not isinstance(one, ast.Expr) and not (isinstance(one, ast.FunctionDef) and one.name == "solve")
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.value = 0
    return ast.dump(tree)


def test_at_least_ninety_programs_are_left_when_constants_are_taken_away() -> None:
    """Ten copies with another constant are one program."""
    assert len({shape(program.path) for program in corpus.corpus()}) >= LEAST


def test_a_copy_with_another_constant_is_the_same_program(tmp_path: Path) -> None:
    for name, one, other in (
        ("a.py", "# x\ndef attack():\n    take(1)\n", "# y\ndef attack():\n    take('2')\n"),
        ("a.cpp", '// x\nint x[1000]; const char *y = "a";\n', 'int x[9];\nconst char *y = "b";\n'),
    ):
        shapes = []
        for text in (one, other, one + "y = x"):
            (tmp_path / name).write_text(text)
            shapes.append(shape(tmp_path / name))
        assert shapes[0] == shapes[1] != shapes[2]
