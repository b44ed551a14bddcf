"""The folder: what is found, drawn and run, and that each fault is told by its place and its remedy."""

import codecs
import errno
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from grader import assignment
from grader.assignment import Assignment, AssignmentError, Fault, find, load
from grader.contract import Language
from grader.task import FunctionTask, Tolerance

SEED = bytes(range(16))


def faults(folder: Path) -> list[str]:
    with pytest.raises(AssignmentError) as raised:
        load(folder).parts()
    return [str(fault) for fault in raised.value.faults]


def replace(folder: Path, old: str, new: str, name: str = "assignment.toml") -> None:
    path = folder / name
    text = path.read_text("utf-8")
    assert old in text, f"the test's own text is not in {name}"
    path.write_text(text.replace(old, new, 1), "utf-8")


def test_a_valid_folder_loads(folder: Path) -> None:
    loaded = load(folder)
    assert (loaded.id, loaded.has_hidden, loaded.root) == ("kernels/scale", True, folder)
    assert loaded.spec.title.zh == "矩阵缩放"
    assert loaded.readme("zh").startswith("# 矩阵")
    assert isinstance(loaded.parts()["kernel"], FunctionTask)


def test_cases_come_public_timed_hidden_with_ranges_drawn_from_the_seed(folder: Path) -> None:
    loaded = load(folder)
    cases = loaded.cases("cpu", SEED)
    assert [(case.id, case.visibility, case.role) for case in cases] == [
        ("tiny", "public", "test"),
        ("cpu-python", "public", "test"),
        ("wide", "public", "timed"),
        ("drawn", "hidden", "test"),
    ]
    drawn = cases[-1].params
    assert drawn["kind"] == "plain"
    assert 1 <= drawn["rows"] <= 300
    assert drawn["columns"] in (7, 64, 1031)
    assert cases[0].tolerance == {"y": Tolerance(1e-6, 1e-6, 1e-5)}
    assert cases == loaded.cases("cpu", SEED)


def test_every_value_of_a_range_is_drawn_and_nothing_else(folder: Path) -> None:
    replace(folder, "range = [1, 300]", "range = [5, 8]", "hidden/cases.toml")
    loaded = load(folder)
    seen = {loaded.cases("cpu", number.to_bytes(16))[-1].params["rows"] for number in range(200)}
    assert seen == {5, 6, 7, 8}


def test_two_parameters_of_one_case_are_drawn_independently(folder: Path) -> None:
    replace(folder, "choice = [7, 64, 1031]", "range = [1, 300]", "hidden/cases.toml")
    loaded = load(folder)
    drawn = [loaded.cases("cpu", number.to_bytes(16))[-1].params for number in range(20)]
    assert any(params["rows"] != params["columns"] for params in drawn)


def test_targets_and_languages_choose_the_cases(folder: Path) -> None:
    loaded = load(folder)
    assert [case.id for case in loaded.cases("h200", SEED)] == ["tiny", "wide", "drawn"]
    assert "cpu-python" not in [case.id for case in loaded.cases("cpu", SEED, Language.CPP)]
    assert "cpu-python" in [case.id for case in loaded.cases("cpu", SEED, Language.PYTHON)]
    with pytest.raises(AssignmentError, match="did you mean 'h200'"):
        loaded.cases("h20", SEED)
    with pytest.raises(ValueError, match="seed of 3 bytes"):
        loaded.cases("cpu", b"abc")


def test_a_students_copy_without_hidden_loads_and_grades(folder: Path) -> None:
    whole = load(folder)
    shutil.rmtree(folder / "hidden")
    copy = load(folder)
    assert not copy.has_hidden
    assert all(case.visibility == "public" for case in copy.cases("cpu", SEED))
    assert copy.digest != whole.digest


def test_the_digest_follows_names_and_contents_alone(folder: Path, tmp_path: Path) -> None:
    before = load(folder).digest
    copied = tmp_path / "elsewhere"
    shutil.copytree(folder, copied)
    os.utime(copied / "task.py", (0, 0))
    (copied / "task.py").chmod(0o600)
    (copied / "__pycache__").mkdir()
    (copied / "__pycache__" / "task.cpython-311.pyc").write_bytes(b"x")
    (copied / ".DS_Store").write_bytes(b"x")
    assert load(copied).digest == before
    replace(copied, "range = [1, 300]", "range = [1, 301]", "hidden/cases.toml")
    assert load(copied).digest != before
    replace(copied, "range = [1, 301]", "range = [1, 300]", "hidden/cases.toml")
    (copied / "starter" / "solution.py").rename(copied / "starter" / "other.py")
    assert load(copied).digest != before


def test_loading_runs_none_of_the_assignments_code(folder: Path) -> None:
    (folder / "task.py").write_text("raise SystemExit(7)", "utf-8")
    loaded = load(folder)
    with pytest.raises(AssignmentError, match=r"task.py: line 1: SystemExit: 7"):
        loaded.parts()


def test_two_versions_of_a_task_do_not_meet(folder: Path) -> None:
    first = load(folder).parts()["kernel"]
    replace(folder, 'params["rows"], params', 'params["rows"] + 1, params', "shapes.py")
    second = load(folder).parts()["kernel"]
    assert isinstance(first, FunctionTask)
    assert isinstance(second, FunctionTask)
    params = {"rows": 3, "columns": 5}
    assert first.tensors(params)[0].shape == (3, 5)
    assert second.tensors(params)[0].shape == (4, 5)


def test_a_task_that_fails_leaves_no_module_behind(folder: Path) -> None:
    (folder / "task.py").write_text("from . import shapes\n1 / 0\n", "utf-8")
    before = set(sys.modules)
    assert faults(folder) == ["task.py: line 2: ZeroDivisionError: division by zero"]
    assert not [name for name in set(sys.modules) - before if name.startswith("solmark_assignment")]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("weight = 1.0\n", "weigth = 1.0\n", ["weigth: there is no such key; did you mean 'weight'?"]),
        ("weight = 1.0\n", "weight = -1\n", ["weight: ", "right is a number above 0"]),
        ("weight = 1.0\n", 'weight = "1"\n', ["weight: ", "found '1'"]),
        ("weight = 1.0\n", "weight = nan\n", ["weight: "]),
        ("weight = 1.0\n", "weight = 1\nweight = 2\n", ["is not TOML"]),
        ('id = "kernels/scale"', 'id = "scale"', ["id: ", "track/slug"]),
        ('id = "kernels/scale"', 'id = "kernels/scala"', ["the folder is 'kernels/scale'"]),
        ('topics = ["1.4"]', "topics = [1.4]", ["topics[#1]"]),
        ('zh = "矩阵缩放"', "", ["title.zh: is missing", "in Chinese"]),
        ('kind = "function"', 'kind = "funktion"', ['parts["kernel"].kind', "did you mean 'function'?"]),
        ('"triton", "cpp"]', '"tritn", "cpp"]', ['parts["kernel"].languages[#2]', "did you mean 'triton'?"]),
        ('entry = "solve"', 'entry = "not a name"', ['parts["kernel"].entry', "name of the student's"]),
        ('hardware = "h200"', 'hardware = "h20"', ['targets["h20"].hardware', "did you mean 'h200'?"]),
        ('hardware = "h200"', 'hardware = "cpu"', ['targets["cpu"].hardware: occurs 2 times']),
        ('hardware = "h200"', 'hardware = "h200x2"', ['targets["h200x2"].devices', "right is 2"]),
        ("primary = true\n", "", ["no target is primary"]),
        ('languages = ["triton"]', "primary = true", ["2 targets are primary"]),
        ('languages = ["triton"]', 'languages = ["cuda"]', ["no part is written in cuda"]),
        ("wall_seconds = 120.0", "wall_seconds = 10000.0", ["10000 is not sane", "1 to 600 seconds"]),
        ("wall_seconds = 120.0", "wall_secs = 3", ["limits.wall_secs", "did you mean 'wall_seconds'?"]),
        ("wall_seconds = 120.0", "memory_bytes = 4096", ["limits.memory_bytes: 4096 is not sane"]),
        ('id = "wide"', 'id = "tiny"', ['cases["tiny"].id: occurs 2 times']),
        ('id = "wide"', 'id = "drawn"', ["a public case has this id too"]),
        ('id = "wide"', 'id = "Wide one"', ["lower-case words"]),
        ('part = "kernel"', 'part = "kernal"', ["there is no part 'kernal'; did you mean 'kernel'?"]),
        ('role = "timed"', 'role = "time"', ['cases["wide"].role', "did you mean 'timed'?"]),
        ('role = "timed"', 'role = "test"', ["no timed case here", "points.performance = 0"]),
        ('targets = ["cpu"]', 'targets = ["gpu"]', ["there is no target 'gpu'; did you mean 'cpu'?"]),
        ('languages = ["python"]', 'languages = ["cuda"]', ["part 'kernel' is not written in cuda"]),
        ("rows = 3,", "rows = { range = [1, 3] },", ["params.rows: a public or timed case has fixed"]),
        ("rows = 3,", "rows = 1979-05-27,", ["params.rows: 1979-05-27 is a date"]),
        ("rows = 3,", "rows = inf,", ["params.rows: inf is not finite"]),
        ("mean_row = 1e-6", "mean_rows = 1e-6", ["tolerance.y.mean_rows", "did you mean 'mean_row'?"]),
        ("mean_row = 1e-6", "mean_row = 0", ["tolerance.y.mean_row", "above 0"]),
        ('role = "test"', 'role = "test"\nvisibility = "hidden"', ["students receive this file"]),
        ('role = "test"', 'role = "test"\nlinked = true', ["only timed cases are linked"]),
        ("correctness = 0.4", "correctness = 0.5", ["add up to 1.1"]),
        ("correctness = 0.4", "corectness = 0.4", ["points.corectness", "did you mean 'correctness'?"]),
    ],
)  # fmt: skip
def test_a_fault_is_told_by_its_key_and_what_would_be_right(
    folder: Path, old: str, new: str, expected: list[str]
) -> None:
    replace(folder, old, new)
    found = faults(folder)
    assert any(all(part in fault for part in expected) for fault in found), found
    assert len([fault for fault in found if "assignment.toml" in fault]) <= 3, found


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("range = [1, 300]", "range = [300, 1]", "params.rows: range = [300, 1] is empty"),
        ("range = [1, 300]", "range = [7, 7]", "is empty or a single value"),
        ("range = [1, 300]", "range = [1.5, 3]", "two integers"),
        ("range = [1, 300]", "range = [1]", "two integers"),
        ("range = [1, 300]", "range = [true, 3]", "two integers"),
        ("range = [1, 300]", "ranges = [1, 3]", "did you mean 'range'?"),
        ("range = [1, 300]", "range = [1, 3], choice = [1, 2]", "not both"),
        ("range = [1, 300]", "", "a table with nothing"),
        ("choice = [7, 64, 1031]", "choice = [7]", "at least two values"),
        ("choice = [7, 64, 1031]", "choice = 7", "at least two values"),
        ('role = "test"', 'role = "timed"', "a hidden case cannot be timed"),
        ('role = "test"', 'role = "test"\nvisibility = "public"', "only hidden cases live here"),
    ],
)  # fmt: skip
def test_a_fault_of_a_hidden_case_is_told(folder: Path, old: str, new: str, expected: str) -> None:
    replace(folder, old, new, "hidden/cases.toml")
    found = faults(folder)
    assert any(expected in fault and fault.startswith("hidden/cases.toml") for fault in found), found


def test_all_faults_are_told_at_once(folder: Path) -> None:
    replace(folder, "weight = 1.0", "wait = 1.0")
    replace(folder, 'kind = "function"', 'kind = "funktion"')
    replace(folder, "wall_seconds = 120.0", "wall_seconds = 10000.0")
    replace(folder, 'part = "kernel"', 'part = "kernal"')
    replace(folder, "mean_row = 1e-6", "mean = 1e-6")
    replace(folder, "range = [1, 300]", "range = [3, 1]", "hidden/cases.toml")
    (folder / "README.zh.md").unlink()
    found = "\n".join(faults(folder))
    for part in ("wait", "funktion", "10000", "kernal", "tolerance.y.mean", "range = [3, 1]", "README.zh.md"):
        assert part in found, found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("assignment.toml", "assignment.toml: is missing"),
        ("task.py", "task.py: is missing"),
        ("README.md", "README.md: is missing"),
        ("README.zh.md", "README.zh.md: is missing"),
        ("starter/solution.py", "starter: is missing or empty"),
        ("hidden/cases.toml", ""),
    ],
)
def test_a_missing_file_is_told(folder: Path, name: str, expected: str) -> None:
    (folder / name).unlink()
    if not expected:
        (folder / "hidden" / "data.bin").write_bytes(b"x")
        expected = "hidden/cases.toml: is missing"
    assert any(fault.startswith(expected) for fault in faults(folder))


def test_links_and_strangers_are_refused(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x", "utf-8")
    (folder / "starter" / "link.py").symlink_to(secret)
    (folder / "inner").symlink_to(tmp_path)
    (folder / "READMEE.md").write_text("x", "utf-8")
    (folder / "starters").mkdir()
    (folder / "starters" / "a.py").write_text("x", "utf-8")
    os.mkfifo(folder / "starter" / "pipe")
    found = "\n".join(faults(folder))
    assert "starter/link.py: is a symbolic link" in found
    assert "inner: is a symbolic link" in found
    assert "READMEE.md: is an unknown file; did you mean 'README.md'?" in found
    assert "starters/a.py: is in an unknown folder" in found
    assert "starter/pipe: is not a regular file" in found


def test_a_name_that_no_archive_can_hold_is_told(folder: Path) -> None:
    (folder / "starter" / f"{'a' * 110}.py").write_text("x", "utf-8")
    (found,) = faults(folder)
    assert found.startswith("starter/aaa")
    assert "too long for an archive" in found
    assert found.endswith("rename it")


def test_what_cannot_be_read_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_bytes, scandir = Path.read_bytes, os.scandir

    def refused_file(path: Path) -> bytes:
        if path.name == "solution.py":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return read_bytes(path)

    def refused_folder(path: Path) -> object:
        if Path(path).name == "starter":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(Path, "read_bytes", refused_file)
    assert any(f.startswith("starter/solution.py: cannot be read: Permission denied") for f in faults(folder))
    monkeypatch.setattr(os, "scandir", refused_folder)
    assert any(fault.startswith("starter: cannot be read: Permission denied") for fault in faults(folder))


def test_an_id_of_the_wrong_form_is_told_once(folder: Path) -> None:
    replace(folder, 'id = "kernels/scale"', 'id = "Scale"')
    (found,) = faults(folder)
    assert "track/slug" in found


def test_a_byte_order_mark_is_told(folder: Path) -> None:
    for name in ("assignment.toml", "hidden/cases.toml"):
        path = folder / name
        path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    found = faults(folder)
    for name in ("assignment.toml", "hidden/cases.toml"):
        assert f"{name}: begins with a byte order mark; save it as UTF-8 without one" in found


def test_what_is_not_utf8_is_told(folder: Path) -> None:
    (folder / "assignment.toml").write_bytes(b'id = "\xff"')
    assert any("UTF-8" in fault for fault in faults(folder))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = 1", "task.py: PARTS: is missing"),
        ("PARTS = []", "task.py: PARTS: is a list"),
        ("def f(:\n", "task.py: line 1: SyntaxError"),
        ("import absent_module", "task.py: line 1: ModuleNotFoundError"),
        ("PARTS = {'kernal': None}", "assignment.toml has no such part; did you mean 'kernel'?"),
        ("PARTS = {'kernel': None}", "is a NoneType, but assignment.toml says kind 'function'"),
        (
            "from grader.task import DialogueTask\nPARTS = {'kernel': DialogueTask(None)}",
            "is a DialogueTask, but assignment.toml says kind 'function'; right is a FunctionTask",
        ),
        ("from .shapes import absent", "task.py: line 1: ImportError"),
    ],
)
def test_a_task_that_does_not_match_is_told(folder: Path, code: str, expected: str) -> None:
    (folder / "task.py").write_text(code, "utf-8")
    assert any(expected in fault for fault in faults(folder)), faults(folder)


def test_an_error_in_a_second_file_is_placed_there(folder: Path) -> None:
    (folder / "shapes.py").write_text("\n\nassert 1 == 2, 'no'\n", "utf-8")
    assert faults(folder) == ["shapes.py: line 3: AssertionError: no"]


MILESTONES = """
[[targets.milestones]]
name = "naive"
fraction = 0.2
credit = 0.0
measurement = "milestones.h200:scale/naive"

[[targets.milestones]]
name = "best"
fraction = 0.8
credit = 1.0
measurement = "milestones.h200:scale/best"
cases = { wide = 0.79 }

[targets.limits]
"""


@pytest.fixture
def measured(folder: Path) -> Path:
    """The folder with two milestones in a checkout whose results have both."""
    replace(folder, "[targets.limits]\n", MILESTONES)
    results = folder.parents[2] / "benchmarks" / "results"
    results.mkdir(parents=True)
    rows = [{"id": "scale/naive", "fraction": 0.2}, {"id": "scale/best", "fraction": 0.801}]
    rows.append({"id": "scale/best/wide", "fraction": 0.79})
    (results / "milestones.h200.json").write_text(json.dumps({"rows": rows}), "utf-8")
    return folder


def test_measured_milestones_make_the_curve(measured: Path) -> None:
    spec = load(measured).spec
    assert spec.milestones("h200") == [(0.2, 0.0), (0.8, 1.0)]
    assert spec.milestones("cpu") == [(0.1, 0.0), (1.0, 1.0)]
    assert spec.reference("h200") == {"wide": 0.79}
    assert spec.reference("cpu") == {}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (":scale/naive", ":scale/nave", "has no row 'scale/nave'; estimates are no milestones; did you mean"),
        ("milestones.h200:", "milestone.h200:", "there is no benchmarks/results/milestone.h200.json"),
        ('"milestones.h200:scale/naive"', '"estimate"', "an estimate is no milestone"),
        ('measurement = "milestones.h200:scale/naive"', "", "measurement: is missing"),
        ("fraction = 0.8", "fraction = 0.9", "0.9, but 0.801 was measured"),
        ("fraction = 0.8", "fraction = 0.1", "does not lie above 0.2 of 'naive'"),
        ("credit = 0.0", "credit = 1.5", "share of the performance points"),
        ('name = "best"', 'name = "naive"', "occurs 2 times"),
        ("fraction = 0.2", "fraction = 0.0", "above 0 and at most 1"),
        ("wide = 0.79", "wide = 0.9", 'cases["wide"]: 0.9, but 0.79 was measured'),
        ("wide = 0.79", "tiny = 0.79", "no timed case of this target"),
        ("wide = 0.79", "wide = 0.0", "greater than 0"),
        ("credit = 0.0", "credit = 0.0\ncases = { wide = 0.2 }", "there is no row 'scale/naive/wide'"),
    ],
)
def test_a_milestone_needs_its_measurement(measured: Path, old: str, new: str, expected: str) -> None:
    replace(measured, old, new)
    found = faults(measured)
    assert any(expected in fault for fault in found), found


def test_a_single_milestone_is_no_curve(measured: Path) -> None:
    start = MILESTONES.index("[[targets.milestones]]", 5)
    replace(measured, MILESTONES[start : MILESTONES.index("[targets.limits]")], "")
    assert any("a curve needs at least two" in fault for fault in faults(measured))


def test_assignments_are_found_by_id_slug_folder_and_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("kernels/scale", "scale", folder, folder / "assignment.toml", "assignments/kernels/scale"):
        assert find(name) == folder
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("SOLMARK_ASSIGNMENTS", f"/nowhere{os.pathsep}{folder.parents[1]}")
    assert find("kernels/scale") == folder
    assert assignment.available()["kernels/scale"] == folder


@pytest.mark.parametrize("name", ["kernels/scael", "scal", "kernel/scale"])
def test_near_names_are_suggested(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    assert folder.is_dir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssignmentError, match=r"did you mean kernels/scale"):
        find(name)


def test_a_name_that_only_shares_its_track_with_others_is_answered_with_all_and_blames_no_file() -> None:
    with pytest.raises(
        AssignmentError, match=r"^kernels/nothing: no such assignment was found; there are: "
    ) as error:
        find("kernels/nothing")
    assert "assignment.toml" not in str(error.value)


def test_a_folder_that_is_no_assignment_says_so(tmp_path: Path) -> None:
    with pytest.raises(AssignmentError, match=r"a folder with assignment.toml is needed"):
        find(tmp_path)
    with pytest.raises(AssignmentError, match="does not exist"):
        load(tmp_path / "absent")


def test_an_error_shows_every_fault_on_a_line_of_its_own() -> None:
    error = AssignmentError("x", [Fault("a.toml", "k", "w", "r"), Fault("b", "", "w")])
    assert str(error) == "x: 2 faults\n  a.toml: k: w; r\n  b: w"


def test_every_committed_assignment_is_valid() -> None:
    checkout = Path(assignment.__file__).parent.parent / "assignments"
    found = sorted(checkout.glob("*/*/assignment.toml"))
    assert found
    for file in found:
        loaded = load(file.parent)
        assert isinstance(loaded, Assignment)
        assert loaded.has_hidden
