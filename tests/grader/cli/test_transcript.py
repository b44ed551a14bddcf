"""`solmark transcript` and `solmark replay` on real gradings."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from grader.assignment import load
from grader.check.gradings import Grader
from grader.cli.main import app
from grader.contract import Mode
from grader.sandbox import registry
from grader.scaffold.make import make

RUNNER = CliRunner()
CHECKOUT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An assignment whose plans are dialogues, and the Report of one grading."""
    root = tmp_path_factory.mktemp("course")
    make("rl/balance", "dialogue", root, "4.3")
    solution = (root / "reference/rl/balance/solution.py").read_bytes()
    grader = Grader(load(root / "assignments/rl/balance"), registry.choose("bubblewrap"), None)
    report = grader.grade({"solution.py": solution}, Mode.GRADE)
    (root / "report.json").write_text(report.model_dump_json(), "utf-8")
    return root


def run(*arguments: object) -> tuple[int, str]:
    result = RUNNER.invoke(app, [str(one) for one in arguments])
    return result.exit_code, result.output


def test_public_cases_become_files_that_replay(folder: Path) -> None:
    code, output = run("transcript", folder / "report.json", "-o", folder / "said")
    assert code == 0, output
    assert sorted(path.name for path in (folder / "said").iterdir()) == [
        "few.jsonl",
        "many.jsonl",
        "one-machine.jsonl",
    ]
    head, _, asked = (
        json.loads(line) for line in (folder / "said/few.jsonl").read_text("utf-8").splitlines()
    )
    assert (head["assignment"], head["part"], head["complete"]) == ("rl/balance", "plan", True)
    assert (asked["ask"], len(asked["answer"])) == ("plan", 5)
    place = ("--assignment", folder / "assignments/rl/balance")
    solution = folder / "reference/rl/balance/solution.py"
    code, output = run("replay", folder / "said/many.jsonl", solution, *place)
    assert (code, "1 question, 0 answered otherwise" in output) == (0, True), output
    code, output = run("replay", folder / "said/many.jsonl", solution.with_name("naive.py"), *place)
    assert code == 1
    assert "question 1: plan" in output
    assert "1 question, 1 answered otherwise" in output
    raises = solution.parent / "wrong/raises.py"
    code, output = run("replay", folder / "said/one-machine.jsonl", raises, *place)
    assert code == 1
    assert "ZeroDivisionError" in output


def test_what_is_no_transcript_is_refused_in_words(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "junk").write_text("junk", "utf-8")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    solution = folder / "reference/rl/balance/solution.py"
    for arguments in (
        ("replay", tmp_path / "junk", solution),
        ("replay", tmp_path / "nothing", solution),
        ("replay", tmp_path / "bytes", solution),
        ("transcript", tmp_path / "junk"),
        ("transcript", tmp_path / "bytes"),
        ("transcript", "nothing.json"),
    ):
        code, output = run(*arguments)
        assert code == 2, arguments
        assert output.startswith(str(arguments[1])), output
    said = tmp_path / "said"
    said.write_text(
        '{"solmark_transcript":1,"assignment":"rl/none","case":"a","part":"b","params":{},"complete":true}',
        "utf-8",
    )
    assert run("replay", said, solution)[0] == 2
    report = json.loads((folder / "report.json").read_text("utf-8"))
    for result in (*report["tests"], *report["timed"]):
        result["transcript"] = ""
    (tmp_path / "report.json").write_text(json.dumps(report), "utf-8")
    assert run("transcript", tmp_path / "report.json") == (1, "This grading left no transcript.\n")
    report["verdict"], report["build"] = "build_error", {"language": "python", "log": "SyntaxError: line 3"}
    report["message"] = {"code": "build_error", "en": "It cannot be loaded.", "zh": "无法加载。"}
    (tmp_path / "report.json").write_text(json.dumps(report), "utf-8")
    code, output = run("transcript", tmp_path / "report.json")
    assert code == 1
    for said_of_it in ("build error", "It cannot be loaded.", "SyntaxError: line 3"):
        assert said_of_it in output


def test_named_regions_replay_too(tmp_path: Path) -> None:
    root = tmp_path / "assignments/rl/policy"
    make("rl/policy", "dialogue", tmp_path, "4.1")
    (root / "adapter.py").write_text(
        "def answer(module, method, message, regions):\n"
        "    start = regions.read_tensors('start')\n"
        "    regions.write_tensors('policy', {name: module.plan(value) for name, value in start.items()})\n"
        "    return float(module.plan(start['w']).sum())\n",
        "utf-8",
    )
    (root / "task.py").write_text(
        "import torch\n"
        "from grader.task import DialogueTask, Outcome, TensorRegion\n"
        "W = {'w': ('float32', (2, 3))}\n"
        "def episode(case, candidate, seed):\n"
        "    candidate.write_tensors('start', {'w': torch.full((2, 3), 2.0)})\n"
        "    total = candidate.ask('train', None)\n"
        "    found = candidate.read_tensors('policy')['w']\n"
        "    right = total == 18.0 and bool((found == 3.0).all())\n"
        "    return Outcome(right, 'no', '\u9519', value=1.0, bound=1.0)\n"
        "PARTS = {'plan': DialogueTask(episode, lambda params: (TensorRegion('start', W, 'to_candidate'),\n"
        "    TensorRegion('policy', W, 'from_candidate')))}\n",
        "utf-8",
    )
    source = b"def plan(value):\n    return value + 1\n"
    report = Grader(load(root), registry.choose("bubblewrap"), None).grade({"solution.py": source}, Mode.TEST)
    assert [test.verdict for test in report.tests] == ["accepted"] * 2, report.message
    (tmp_path / "report.json").write_text(report.model_dump_json(), "utf-8")
    assert run("transcript", tmp_path / "report.json", "-o", tmp_path / "said")[0] == 0
    for name, right in (("right.py", True), ("other.py", False)):
        (tmp_path / name).write_bytes(source if right else source.replace(b"+ 1", b"+ 2"))
        code, output = run("replay", tmp_path / "said/few.jsonl", tmp_path / name, "--assignment", root)
        assert code == (0 if right else 1), output
