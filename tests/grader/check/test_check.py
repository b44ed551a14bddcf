"""`solmark check` on scaffolded assignments: they pass, and each thing that is broken is named."""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from grader.check import mutants, run
from grader.check.finding import Finding, State
from grader.cli.main import app
from grader.sandbox import registry
from grader.scaffold.make import KINDS, ScaffoldError, make
from tests.revision import revision

TOML, TASK = "assignment.toml", "task.py"
INDIRECT = """\
def _hidden_call(params):
    import torch

    check = {"y": oracle}["y"]
    check(params, {"x": torch.zeros(params["rows"], params["columns"])})
"""
H200 = '[[targets]]\nhardware = "h200"\nlanguages = ["python"]'


@pytest.fixture
def scaffold(tmp_path: Path) -> Callable[[str], Path]:
    """`scaffold(kind)`: the folder of a fresh assignment of that kind."""

    def write(kind: str) -> Path:
        make("demo/new-one", kind, tmp_path, "1.1")
        return tmp_path / "assignments" / "demo" / "new-one"

    return write


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    return tmp_path / "reference" / "demo" / "new-one"


def checked(root: Path, *labels: str) -> list[Finding]:
    """All findings; of the solutions those with one of these labels are graded."""
    options = run.Options(
        registry.choose("bubblewrap"), grade=bool(labels), only=lambda solution: solution.label in labels
    )
    return list(run.check(root, options))


def failing(findings: list[Finding]) -> list[str]:
    return [f"{one.subject}: {one.text}" for one in findings if one.state is State.FAILS]


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


DRAWN = 3
"""Of a scaffold's other solutions, by the commit: all of them take a minute."""


def drawn(kind: str, *fixed: str) -> list[str]:
    """Labels of the solutions that are graded: fixed ones, and some of the others."""
    start = "reference/@ID@/"
    labels = {path.removeprefix(start) for path in KINDS[kind] if path.startswith(start)}
    return [*fixed, *random.Random(revision()).sample(sorted(labels - set(fixed)), DRAWN)]


@pytest.mark.parametrize(
    ("kind", "labels"),
    [
        ("function", drawn("function", "solution.py", "wrong/cheat_skips_calls.py")),
        ("dialogue", drawn("dialogue", "solution.py")),
    ],
)
def test_a_new_assignment_passes(scaffold: Callable[[str], Path], kind: str, labels: list[str]) -> None:
    findings = checked(scaffold(kind), *labels)
    assert failing(findings) == []
    assert run.passed(findings)
    graded = {one.subject for one in findings if one.seconds is not None}
    assert graded >= {"starter/solution.py", *labels}


@pytest.mark.parametrize(
    ("file", "old", "new", "wanted"),
    [
        (TASK, "dram_bytes=8.0", "dram_bytes=9.0", "must be touched"),
        (
            TASK,
            '"fp32": float(elements)',
            '"fp32": 1.01 * elements',
            "counts 15.15, the oracle needs 15: it would beat the bound",
        ),
        (
            TASK,
            "    elements = params",
            "    _hidden_call(params)\n    elements = params",
            "calls the oracle",
        ),
        (TASK, "oracle=oracle, cost=cost", "oracle=cost, cost=cost", "are one function"),
        (TASK, 'inputs["x"].double()', 'inputs["z"].double()', "bound: task.py: line 28: KeyError: 'z'"),
        (TASK, 'inputs["x"].double()', 'inputs["z"].double()', "tolerances: task.py: line 28: KeyError"),
        (TASK, 'return {"y"', 'raise SystemExit(3)\n    return {"y"', "task.py: line 28: SystemExit: 3"),
        (TASK, 'return {"y": inputs["x"].double() * 1.5}', "return {}", "the oracle returned no tensor 'y'"),
        (TASK, ".double() * 1.5}", "[:1].double()}", "the oracle's 'y' has the shape (1, 5), not (3, 5)"),
        (TASK, ".double() * 1.5}", ".mul_(2).double()}", "the oracle changed its input 'x'"),
        (
            TASK,
            'fills.rows(slot["x"], seed, "x")',
            "del seed",
            "a constant is the right answer: all of timed",
        ),
        (TASK, 'fills.rows(slot["x"], seed, "x")', 'slot["x"].fill_(seed % 9 + 1)', "y in every public case"),
        (
            TOML,
            "worst_row = 1e-7, mean_row = 1e-7, worst_element = 1e-4",
            "worst_row = 1e-2, mean_row = 1e-2, worst_element = 1.0",
            "lower precision: accepted: y in timed",
        ),
        (
            TOML,
            "worst_row = 1e-7, mean_row = 1e-7",
            "worst_row = 1e-9, mean_row = 1e-9",
            "rounded once, is refused",
        ),
        (TOML, "rows = 3, columns = 5", "rows = 300, columns = 50", "by brute force"),
        ("README.zh.md", "8 字节", "9 字节", "the numbers differ"),
        ("README.zh.md", "## 常见错误", "常见错误", "the headings differ"),
        ("README.zh.md", "## 下界", "## Bound 下界", "'Bound 下界' of README.zh.md repeats the English one"),
        ("README.md", "## Bound", "## Bound\n\n![](figures/none.svg)", "figures/none.svg does not exist"),
        (
            "README.md",
            "## Bound",
            "## Bound\n\n![](figures/none.svg)",
            "figures/none.svg is on one page only",
        ),
    ],
)
def test_what_does_not_hold_is_named(
    scaffold: Callable[[str], Path], file: str, old: str, new: str, wanted: str
) -> None:
    root = scaffold("function")
    change(root / file, old, new)
    if "_hidden_call" in new:  # Through another function, and by another name.
        change(root / TASK, "PARTS =", f"{INDIRECT}\n\nPARTS =")
    assert any(wanted in text for text in failing(checked(root)))


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        (", brute_force=every_plan", "", "the task has no brute_force"),
        ("return max(*seconds, -(-sum(seconds) // machines))", "return sum(seconds)", "beyond the bound of"),
        (
            "not isinstance(reply, list) or len(reply) != jobs",
            "reply == 0",
            "TypeError",
        ),
        (
            "not isinstance(reply, list) or len(reply) != jobs",
            "not isinstance(reply, list)",
            "the episode raises",
        ),
        ("if fault is not None:", "if fault is not None and reply != []:", "few: [] is accepted"),
        (
            "return Outcome(False, *fault)",
            "return Outcome(False, fault[0])",
            "without a sentence in both languages",
        ),
        ("return Outcome(False, *fault)", "return Outcome(False, fault[0], fault[0])", "without Chinese"),
    ],
)
def test_what_a_dialogue_does_not_hold_is_named(
    scaffold: Callable[[str], Path], old: str, new: str, wanted: str
) -> None:
    root = scaffold("dialogue")
    if "is accepted" in wanted:
        change(root / TASK, "assert isinstance(reply, list)", "reply = reply or [0] * len(seconds)")
    change(root / TASK, old, new)
    assert any(wanted in text for text in failing(checked(root))), failing(checked(root))


def test_what_a_page_lacks_is_a_warning(scaffold: Callable[[str], Path]) -> None:
    root = scaffold("function")

    def lacking() -> list[str]:
        found = [one for one in checked(root) if one.subject == "pages" and one.state is State.WARNING]
        return [one.text.removeprefix("README.md lacks ") for one in found]

    theory, bound, reading = "a page of theory", "the bound", "further reading, by title"
    proof, figure, mistakes = "the proof of the bound", "a figure", "common mistakes"
    assert lacking() == [theory, bound, reading, proof, figure]
    change(root / "README.md", "## Bound", "## The bound, and why it holds\n\n*Proof.* Trivial.")
    assert lacking() == [theory, reading, figure]
    change(root / "README.md", "## Common mistakes", "## Mistakes")
    assert lacking() == [theory, mistakes, reading, figure]


def test_timed_cases_that_are_too_large_to_be_tried_are_named(
    scaffold: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = scaffold("function")
    monkeypatch.setattr(mutants, "MAX_ELEMENTS", 100_000)
    findings = checked(root)
    assert failing(findings) == []
    assert any(
        one.state is State.WARNING and one.text == "not tried in timed: above 100000 elements"
        for one in findings
    )


def test_a_bound_that_nothing_reaches_is_a_warning(scaffold: Callable[[str], Path]) -> None:
    root = scaffold("dialogue")
    change(root / TASK, "bound=float(bound(seconds, machines))", "bound=0.5 * bound(seconds, machines)")
    findings = checked(root)
    assert failing(findings) == []
    assert any(one.state is State.WARNING and "is it too low?" in one.text for one in findings)


def test_a_short_timed_case_that_is_not_linked_is_a_warning(scaffold: Callable[[str], Path]) -> None:
    root = scaffold("function")
    change(root / TOML, 'hardware = "cpu"\nprimary = true', 'hardware = "cpu"\nprimary = true\n\n' + H200)
    texts = [one.text for one in checked(root) if one.state is State.WARNING and one.subject == "case timed"]
    assert texts == ["bound of 0.9 µs on h200: calls may overlap unseen; link it"]
    change(root / TOML, 'id = "timed"', 'id = "timed"\nlinked = true')
    assert not any(one.subject == "case timed" for one in checked(root))


def test_a_milestone_without_a_measurement_is_refused(scaffold: Callable[[str], Path]) -> None:
    root = scaffold("function")
    milestone = '[[targets.milestones]]\nname = "naive"\nfraction = 0.1\ncredit = 0.2\n'
    change(root / TOML, "primary = true\n", f"primary = true\n\n{milestone}")
    assert any("measurement: is missing" in text for text in failing(checked(root)))
    change(root / TOML, "credit = 0.2\n", 'credit = 0.2\nmeasurement = "nowhere:row"\n')
    (root.parents[2] / "benchmarks/results").mkdir(parents=True)
    assert any("there is no benchmarks/results/nowhere.json" in text for text in failing(checked(root)))


def test_a_promised_share_is_held_against_hidden_cases_too(
    scaffold: Callable[[str], Path], reference: Path
) -> None:
    root = scaffold("dialogue")
    best = reference / "solution.py"
    best.write_text("# solmark: reaches=1.0\n" + (reference / "naive.py").read_text())
    findings = checked(root, "solution.py")
    texts = failing(findings)
    short = "where 100% is promised"
    assert any(text.startswith("solution.py, bound: ") and text.endswith(short) for text in texts), texts
    assert any(one.subject == "solution.py, bound of hidden cases" for one in findings)
    assert any(one.text.startswith("the same prices twice in 1 cases") for one in findings)
    best.write_text("# solmark: reaches=1.5\n" + (reference / "naive.py").read_text())
    assert any("reaches=1.5; right is a share" in text for text in failing(checked(root)))


def test_a_missing_library_is_said_or_warned_of(scaffold: Callable[[str], Path], reference: Path) -> None:
    root = scaffold("dialogue")
    assert any("no library.py as a baseline" in one.text for one in checked(root))
    best = reference / "solution.py"
    best.write_text("# solmark: library=none\n" + best.read_text())
    assert not any("library" in one.text for one in checked(root))
    (reference / "library.py").write_text((reference / "naive.py").read_text())
    assert any("says library=none, but there is" in text for text in failing(checked(root)))


def test_a_cost_below_what_must_be_touched_is_a_warning(scaffold: Callable[[str], Path]) -> None:
    root = scaffold("function")
    change(root / TASK, "dram_bytes=8.0", "dram_bytes=4.0")
    findings = checked(root)
    assert failing(findings) == []
    assert any(one.state is State.WARNING and "60 of 120 bytes" in one.text for one in findings)


def test_solutions_are_counted_and_must_name_their_verdict(
    scaffold: Callable[[str], Path], reference: Path
) -> None:
    root = scaffold("function")
    (reference / "naive.py").unlink()
    (reference / "wrong" / "cheat_skips_calls.py").unlink()
    (reference / "wrong" / "forgets_the_factor.py").write_text("def solve(): ...\n")
    (reference / "wrong" / "changes_its_input.py").write_text("# solmark: verdict=wrong\n# A bug.\n")
    (reference / "library.py").write_text("# solmark: verdict=accepted\n# solmark: with=missing.py\n")
    (reference / "wrong" / "reads_past_the_end.py").write_text("# solmark: verdict=accepted\n# A bug.\n")
    texts = failing(checked(root))
    for wanted in (
        "there is no naive solution",
        "1 named cheat_*; 2 are needed",
        "wrong/forgets_the_factor.py: its first ten lines must hold",
        "wrong/changes_its_input.py: 'wrong' is not a valid Verdict",
        "library.py: with=missing.py: there is no such file",
        "one under wrong/ names verdict=accepted",
        "5 wrong ones with 5 bugs; 6",
    ):
        assert any(wanted in text for text in texts), (wanted, texts)


def test_work_of_an_oracle_outside_torch_is_not_held_against_its_cost(
    scaffold: Callable[[str], Path],
) -> None:
    root = scaffold("function")
    change(root / TASK, '"fp32": float(elements)', '"fp32": 9.0 * elements')
    change(
        root / TASK,
        'inputs["x"].double() * 1.5',
        'inputs["x"].double() * float(inputs["x"].new_tensor(1.5).item())',
    )
    findings = checked(root)
    assert failing(findings) == []
    assert any(one.state is State.WARNING and "more outside of it" in one.text for one in findings)


def test_a_file_that_nobody_would_grade_is_a_fault(scaffold: Callable[[str], Path], reference: Path) -> None:
    root = scaffold("function")
    good = (reference / "wrong" / "changes_its_input.py").read_text()
    (reference / "h200").mkdir()
    (reference / "wrong" / "more").mkdir()
    (reference / "shared").mkdir()
    for name in ("wrong/more/deep.py", "wrong/other.txt", "wrong/NOTES.md", "h200/solution.py", "wrongs.rs"):
        (reference / name).write_text(good)
    (reference / "shared" / "used.py").write_text("")
    (reference / "shared" / "unused.py").write_text("")
    (reference / "NOTES.md").write_text("What was tried.")
    (reference / "wrong" / "uses.py").write_text(f"# solmark: with=shared/used.py\n{good}")
    (reference / "__pycache__").mkdir()
    (reference / "__pycache__" / "naive.pyc").write_text("")

    def ungraded() -> set[str]:
        return {text.partition(":")[0] for text in failing(checked(root)) if "is never graded" in text}

    others = {"wrong/more/deep.py", "wrong/other.txt", "wrong/NOTES.md", "wrongs.rs", "shared/unused.py"}
    assert ungraded() == {*others, "h200/solution.py"}
    change(root / TOML, 'hardware = "cpu"\nprimary = true', 'hardware = "cpu"\nprimary = true\n\n' + H200)
    assert ungraded() == others


def test_a_solution_with_another_verdict_fails_and_so_does_a_starter_that_passes(
    scaffold: Callable[[str], Path], reference: Path
) -> None:
    root = scaffold("dialogue")
    (root / "starter" / "solution.py").write_text((reference / "naive.py").read_text())
    wrong = reference / "wrong" / "counts_from_one.py"
    wrong.write_text(wrong.read_text().replace("+ 1", ""))
    texts = failing(checked(root, "wrong/counts_from_one.py"))
    assert any(text.startswith("wrong/counts_from_one.py: accepted, not wrong_answer") for text in texts), (
        texts
    )
    assert any("starter/solution.py: passes few" in text for text in texts)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("def answer(module, method, message, regions):\n    return 1\n", ""),
        ("def answer(module, method, message):\n    return 1\n", "takes four arguments"),
        ("def reply(): ...\n", "defines no answer"),
        ("def answer(:\n", "is no Python"),
    ],
)
def test_an_adapter_is_read_and_not_run(scaffold: Callable[[str], Path], source: str, wanted: str) -> None:
    root = scaffold("dialogue")
    (root / "adapter.py").write_text(source)
    texts = failing(checked(root))
    assert texts == [] if not wanted else [text for text in texts if wanted in text] == texts != []


def test_a_hidden_case_that_raises_is_named_without_a_grading(scaffold: Callable[[str], Path]) -> None:
    root = scaffold("dialogue")
    hidden = root / "hidden" / "cases.toml"
    change(hidden, "{ range = [1, 60] }", '"9"')
    assert any("drawn: to None the episode raises TypeError" in text for text in failing(checked(root)))


def test_what_cannot_be_read_or_is_not_there_ends_no_check(
    scaffold: Callable[[str], Path], reference: Path
) -> None:
    root = scaffold("function")
    (root / "starter" / "solution.py").rename(root / "starter" / "solution.txt")
    (reference / "wrong" / "changes_its_input.py").write_bytes(b"# solmark: verdict=wrong_answer\n# \xff\n")
    findings = checked(root, "wrong/no_such_one.py")
    texts = failing(findings)
    assert any(text.startswith("starter: no file of it ends in .cpp, .cu, .py") for text in texts), texts
    assert any("wrong/changes_its_input.py: is not UTF-8" in text for text in texts), texts
    assert any(one.state is State.WARNING and "none of them was graded" in one.text for one in findings)


def test_hidden_cases_must_be_there(scaffold: Callable[[str], Path]) -> None:
    root = scaffold("dialogue")
    (root / "hidden" / "cases.toml").unlink()
    assert any("no hidden cases" in text for text in failing(checked(root)))


@pytest.mark.parametrize("name", ["NoSlug", "a/b/c", "../x/y", "a/B", ""])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ScaffoldError, match="track/slug"):
        make(name, "function", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "topic", "wanted"),
    [
        ("a/b", "nonsense", "'nonsense' is no topic"),
        ("a/b", '1.1"', "is no topic"),
        (f"a/{'b' * 300}", "1.1", "302 letters; at most 128"),
        ("a/b", "1.1", "cannot be written"),
    ],
)
def test_what_cannot_be_made_says_why(tmp_path: Path, name: str, topic: str, wanted: str) -> None:
    (tmp_path / "assignments").write_text("no folder")
    with pytest.raises(ScaffoldError, match=re.escape(wanted)):
        make(name, "dialogue", tmp_path, topic)


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    made = runner.invoke(app, ["new", "demo/new-one", "--kind", "dialogue"])
    assert made.exit_code == 0, made.output
    assert len(made.output.splitlines()) == len(KINDS["dialogue"]) + 1
    assert runner.invoke(app, ["new", "demo/new-one"]).exit_code == 2
    assert runner.invoke(app, ["new", "demo/other", "--kind", "collective"]).exit_code == 2
    change(tmp_path / "assignments/demo/new-one/assignment.toml", 'kind = "dialogue"', 'kind = "dialog"')
    broken = runner.invoke(app, ["check", "demo/new-one"])
    assert broken.exit_code == 1
    assert "dialogue" in broken.output
    assert runner.invoke(app, ["check"]).exit_code == 2
    assert runner.invoke(app, ["check", "demo/new-one", "--all"]).exit_code == 2
    assert runner.invoke(app, ["check", "demo/nothing-like-it"]).exit_code == 2
