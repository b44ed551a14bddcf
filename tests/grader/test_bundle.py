"""Bundles: one digest from folder to node, a manifest without running code here, and hostile archives."""

import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from grader import archive, bundle, evaluate, manifest, sol
from grader.assignment import AssignmentError, load
from grader.bundle import ArchiveError
from grader.contract import Language
from grader.hardware import profile
from grader.task import Cost


def replace(folder: Path, old: str, new: str, name: str = "task.py") -> None:
    path = folder / name
    text = path.read_text("utf-8")
    assert old in text, f"the test's own text is not in {name}"
    path.write_text(text.replace(old, new, 1), "utf-8")


def faults(folder: Path) -> list[str]:
    with pytest.raises(AssignmentError) as raised:
        evaluate.evaluate(load(folder))
    return [str(fault) for fault in raised.value.faults]


def tar(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as opened:
        for member, content in members:
            member.size = len(content)
            opened.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    info.mode = 0o644
    return info


def test_folder_archive_and_copy_share_one_digest(folder: Path, tmp_path: Path) -> None:
    assignment = load(folder)
    file = tmp_path / "out" / "scale.tar"
    assert bundle.write(assignment, file) == assignment.digest
    copy = bundle.read(file, tmp_path / "copies" / "one", assignment.digest)
    assert copy.digest == assignment.digest
    assert copy.has_hidden
    assert bundle.read(file.read_bytes(), tmp_path / "copies" / "two").digest == assignment.digest
    assert archive.read(file.read_bytes())["README.md"] == (folder / "README.md").read_bytes()
    assert manifest.read(bundle.manifest_file(file).read_bytes()).digest == assignment.digest
    assert sorted(path.name for path in (tmp_path / "copies").iterdir()) == ["one", "two"]
    assert sorted(path.name for path in file.parent.iterdir()) == ["scale.tar", "scale.tar.manifest.json"]


def test_the_bundle_has_no_caches_and_no_times(folder: Path) -> None:
    before = bundle.make(load(folder)).archive
    (folder / "__pycache__").mkdir(exist_ok=True)
    (folder / "__pycache__" / "x.pyc").write_bytes(b"x")
    (folder / "task.py").touch()
    assert bundle.make(load(folder)).archive == before


def test_the_manifest_says_what_the_code_computes(folder: Path) -> None:
    found = bundle.make(load(folder)).manifest
    wide = next(case for case in found.cases if case.id == "wide")
    assert wide.shapes == {"x": "float32[1024, 4096]", "y": "float32[1024, 4096]"}
    assert wide.roles == {"x": "in", "y": "out"}
    assert wide.cost is not None
    assert wide.cost.dram_bytes == 8 * 1024 * 4096
    assert wide.targets == ("cpu", "h200")
    cost = Cost(operations={"fp32": 1024 * 4096}, dram_bytes=8 * 1024 * 4096)
    expected = sol.bound(cost, profile.datasheet("h200"))
    assert set(wide.bounds) == {"h200"}
    assert (wide.bounds["h200"].seconds, wide.bounds["h200"].by) == (expected.seconds, "dram")
    assert found.languages == (Language.PYTHON, Language.TRITON, Language.CPP)
    assert found.primary.hardware == "cpu"
    assert found.hidden_cases == 1
    assert [case.id for case in found.cases] == ["tiny", "cpu-python", "wide"]


def test_the_manifest_tells_nothing_of_hidden_cases_but_their_number(folder: Path) -> None:
    text = bundle.make(load(folder)).manifest.model_dump_json()
    assert "drawn" not in text
    assert "1031" not in text
    assert "300" not in text


def test_a_manifest_is_read_back_and_a_strange_one_refused(folder: Path) -> None:
    made = bundle.make(load(folder)).manifest
    assert manifest.read(made.model_dump_json()) == made
    for text in ("", "[]", json.dumps(made.model_dump(mode="json") | {"version": 2})):
        with pytest.raises(manifest.ManifestError, match="bundle the assignment again"):
            manifest.read(text)
    with pytest.raises(manifest.ManifestError, match="at most"):
        manifest.read(b" " * (manifest.MAX_BYTES + 1))


def test_bundling_and_reading_leave_this_process_without_the_task_and_torch(
    folder: Path, tmp_path: Path
) -> None:
    replace(folder, '"""y = 2 x."""', "import torch\nimport os\nos.environ['SOLMARK_TASK_RAN'] = '1'\n")
    program = (
        "import os, sys, pathlib\n"
        "from grader import assignment, bundle\n"
        "made = bundle.make(assignment.load(sys.argv[1]))\n"
        "bundle.starter_zip(bundle.read(made.archive, pathlib.Path(sys.argv[2])))\n"
        "assert 'torch' not in sys.modules and 'SOLMARK_TASK_RAN' not in os.environ\n"
    )
    command = [sys.executable, "-c", program, str(folder), str(tmp_path / "copy")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("return Cost(", "return None and Cost(", "cost gave None; right is a grader.task.Cost"),
        ('{"fp32": elements}', '{"fp23": elements}', "cost counts the unit 'fp23'; did you mean 'fp32'?"),
        ("dram_bytes=8 * elements", "dram_bytes=-1", "cost: dram_bytes is -1"),
        ("dram_bytes=8 * elements", "dram_bytes=float('nan')", "cost: dram_bytes is nan"),
        ('operations={"fp32": elements}, dram_bytes=8 * elements', "", "the cost of a timed case is zero"),
        ("elements = params", "1 / 0\n    elements = params", "ZeroDivisionError"),
        ('"out"),', '"in"),', "no tensor is written"),
        ('"out"),', '"output"),', "role 'output'; did you mean 'out'?"),
        ('Tensor("y"', 'Tensor("x"', "a name occurs twice"),
        ('"x", "float32"', '"x", "float23"', "dtype 'float23'; did you mean 'float32'?"),
        ('shape(params), "out")', '(-1, 2), "out")', "integers from 0 up"),
        ('shape(params), "out")', 'shape(params), "out", strides=(1, 1))', "elements of it may share memory"),
        ('shape(params), "out")', 'shape(params), "out", strides=(1,))', "1 strides; right is 2"),
        ("return (", "return (\n        Tensor('z', 'int64', (1,), 'out'),", "out of order"),
        ('shape(params), "out")', 'shape(params), "out", count="n")', "counted by 'n'"),
        ('shape(params), "out")', 'shape(params), "out", alias_of="x")', "alias of 'x'"),
        ("fill, oracle, cost)", "fill, oracle, cost, lambda p: {'x': 1})", "scalar 'x' has no name of its"),
        ("fill, oracle, cost)", "fill, oracle, cost, lambda p: {'e': 'a'})", "scalar 'e' is 'a'"),
        ("fill, oracle, cost)", "fill, oracle, cost, lambda p: {'e': 1 << 63})", "at most 64 bits"),
        ("return params", "if params[0]: pass\n    return params", "shapes.py"),
    ],
)  # fmt: skip
def test_what_the_code_gets_wrong_is_told(folder: Path, old: str, new: str, expected: str) -> None:
    replace(folder, old, new, "shapes.py" if old == "return params" else "task.py")
    found = faults(folder)
    assert any(expected in fault for fault in found), found


def test_faults_and_crashes_of_the_subprocess_are_told(folder: Path) -> None:
    replace(folder, "8 * elements", "-8")
    with pytest.raises(AssignmentError, match="cost: dram_bytes is -8"):
        bundle.make(load(folder))
    replace(folder, "from grader.task", "import os; os._exit(3)\nfrom grader.task")
    with pytest.raises(AssignmentError, match="ended with status 3"):
        bundle.make(load(folder))


def test_a_tolerance_of_no_output_is_told(folder: Path) -> None:
    replace(folder, "tolerance = { y =", "tolerance = { z =", "assignment.toml")
    assert any('cases["tiny"].tolerance.z: there is no such output' in fault for fault in faults(folder))


def test_hidden_cases_are_tried_with_several_seeds(folder: Path) -> None:
    replace(folder, "return params", "assert params['columns'] != 1031\n    return params", "shapes.py")
    assert any("case 'drawn'" in fault and "1031" in fault for fault in faults(folder))


def test_what_the_code_prints_does_not_disturb(folder: Path) -> None:
    replace(folder, '"""y = 2 x."""', "print('{\"manifest\": 1}', end='')")
    assert bundle.make(load(folder)).manifest.id == "kernels/scale"


def test_a_folder_that_changed_since_it_was_read_is_refused(folder: Path) -> None:
    assignment = load(folder)
    replace(folder, "8 * elements", "9 * elements")
    with pytest.raises(AssignmentError, match="changed since it was read"):
        bundle.make(assignment)


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """The header alone: what it announces does not follow."""
    info = member(name, kind)
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT)


def sparse(size: int) -> bytes:
    """An old GNU sparse member: 1 KiB that says it is `size` bytes of file."""
    block = bytearray(header("task.py", 0, tarfile.GNUTYPE_SPARSE))
    block[483:495] = b"%011o\0" % size
    block[148:156] = b"        "
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + bytes(10240)


def pax(**headers: str) -> bytes:
    info = member("task.py")
    info.pax_headers = headers
    return tar((info, b"x"))


HOSTILE = {
    "sparse": sparse(1 << 40),
    "sparse, pax": pax(**{"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9" * 15}),
    "pax size": pax(size="9" * 15),
    "pax comment": pax(comment="x"),
    "long name": header("././@LongLink", 1 << 40, tarfile.GNUTYPE_LONGNAME) + bytes(10240),
    "too large": header("task.py", 1 << 40) + bytes(10240),
    "negative": header("task.py", -1) + bytes(10240),
    "many large": header("a.py", 200 << 20) + bytes(200 << 20) + header("b.py", 200 << 20),
    "owner": tar((member("task.py"), b"x")).replace(b"0000644", b"0000600"),
    "nothing": b"",
    "text": b"hello",
    "zeros": bytes(10240),
    "parent": tar((member("../evil.py"), b"x")),
    "deep parent": tar((member("starter/../../evil.py"), b"x")),
    "absolute": tar((member("/etc/evil"), b"x")),
    "symlink": tar((member("starter/a", tarfile.SYMTYPE, "/etc/passwd"), b"")),
    "hard link": tar((member("task.py"), b"x"), (member("a.py", tarfile.LNKTYPE, "task.py"), b"")),
    "folder": tar((member("starter", tarfile.DIRTYPE), b"")),
    "device": tar((member("null", tarfile.CHRTYPE), b"")),
    "fifo": tar((member("pipe", tarfile.FIFOTYPE), b"")),
    "twice": tar((member("task.py"), b"x"), (member("task.py"), b"y")),
    "file as folder": tar((member("a"), b"x"), (member("a/b"), b"y")),
    "backslash": tar((member("starter\\a.py"), b"x")),
    "control": tar((member("starter/a\n.py"), b"x")),
    "not ascii": tar((member("starter/é.py"), b"x")),
    "dot": tar((member("./task.py"), b"x")),
    "empty part": tar((member("starter//task.py"), b"x")),
    "too long": tar((member("a/" * 120 + "b"), b"x")),
    "not canonical": tar((member("b.py"), b"x"), (member("a.py"), b"y")),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(ArchiveError) as raised:
        bundle.read(HOSTILE[name], tmp_path / "nest" / "copy")
    assert list(tmp_path.rglob("*")) == [tmp_path / "nest"]
    assert str(tmp_path) not in str(raised.value)


def test_a_changed_or_cut_archive_is_refused(folder: Path, tmp_path: Path) -> None:
    made = bundle.make(load(folder))
    for content in (made.archive[:-1], made.archive + bytes(512), made.archive.replace(b"2 x", b"3 x")):
        with pytest.raises(ArchiveError, match="digest"):
            bundle.read(content, tmp_path / "copy", made.digest)
    for content in (made.archive[:2000], made.archive + b"x" * 512, made.archive[:-512]):
        with pytest.raises(ArchiveError):
            bundle.read(content, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_an_archive_of_a_faulty_assignment_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    made = bundle.make(load(folder))
    content = archive.read(made.archive)
    toml = content.pop("assignment.toml")
    for change in (
        {"assignment.toml": b"id = 1"},
        {"assignment.toml/file": toml},
        {"assignment.toml": b"weight = " + b"9" * 5000 + b"\n" + toml},
        {"assignment.toml": b"weight = 0x" + b"f" * 5000 + b"\n" + toml},
        {"assignment.toml": b"weight = " + b"[" * 5000},
    ):
        with pytest.raises(AssignmentError) as raised:
            bundle.read(archive.pack(content | change), tmp_path / "nest" / "copy")
        assert str(tmp_path) not in str(raised.value)
    assert list((tmp_path / "nest").iterdir()) == []


def test_a_folder_that_exists_is_not_overwritten(folder: Path, tmp_path: Path) -> None:
    made = bundle.make(load(folder))
    target = tmp_path / "copy"
    target.mkdir()
    (target / "precious").write_text("x", "utf-8")
    with pytest.raises(FileExistsError):
        bundle.read(made.archive, target)
    assert [path.name for path in target.iterdir()] == ["precious"]


def test_the_starter_has_all_that_a_student_needs_and_nothing_hidden(folder: Path, tmp_path: Path) -> None:
    content = bundle.starter_zip(load(folder))
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        names = opened.namelist()
        opened.extractall(tmp_path / "student")
    assert sorted(names) == [
        "scale/README.md",
        "scale/README.zh.md",
        "scale/assignment.toml",
        "scale/figures/roof.svg",
        "scale/shapes.py",
        "scale/starter/solmark.h",
        "scale/starter/solution.py",
        "scale/task.py",
    ]
    copy = load(tmp_path / "student" / "scale")
    assert not copy.has_hidden
    assert set(copy.parts()) == {"kernel"}
    assert bundle.starter_zip(load(folder)) == content


def test_a_starter_without_a_compiled_language_has_no_header(folder: Path) -> None:
    replace(folder, ', "cpp"]', "]", "assignment.toml")
    with zipfile.ZipFile(io.BytesIO(bundle.starter_zip(load(folder)))) as opened:
        assert not [name for name in opened.namelist() if name.endswith(".h")]


COLLECTIVE = """
from grader.task import CollectiveTask, Cost, DialogueTask, BlobRegion, Tensor


def tensors(params, rank):
    return (Tensor("x", "float32", (params["rows"],), "in"), Tensor("y", "float32", (params["rows"],), "out"))


PARTS = {"kernel": CollectiveTask(
    ranks=lambda params: 2,
    tensors=tensors,
    fill=None,
    oracle=None,
    cost=lambda params: Cost(dram_bytes=8 * params["rows"], link_bytes=4 * params["rows"]),
)}
"""

DIALOGUE = """
from grader.task import BlobRegion, DialogueTask

PARTS = {"kernel": DialogueTask(
    episode=None, regions=lambda params: (BlobRegion("plan", "int64", 10, "from_candidate"),)
)}
"""


def test_a_collective_is_evaluated_on_every_rank(folder: Path) -> None:
    replace(folder, '"function"', '"collective"', "assignment.toml")
    (folder / "task.py").write_text(COLLECTIVE, "utf-8")
    wide = next(case for case in evaluate.evaluate(load(folder)).cases if case.id == "wide")
    assert wide.shapes == {"x": "float32[1024]", "y": "float32[1024]"}
    assert wide.cost is not None
    assert wide.cost.link_bytes == 4096
    replace(folder, '"float32", (params["rows"],), "out"', '"float32", (params["rows"],) * (9 * rank), "out"')
    assert any("9 dimensions" in fault for fault in faults(folder))
    replace(folder, "ranks=lambda params: 2", "ranks=lambda params: 0")
    assert any("ranks gave 0" in fault for fault in faults(folder))


def test_a_dialogue_has_regions_and_neither_cost_nor_tolerance(folder: Path) -> None:
    replace(folder, '"function"', '"dialogue"', "assignment.toml")
    assert any("a dialogue cannot be answered in cpp" in fault for fault in faults(folder))
    replace(folder, '["python", "triton", "cpp"]', '["python", "triton"]', "assignment.toml")
    (folder / "task.py").write_text(DIALOGUE, "utf-8")
    assert any("a dialogue judges its answers itself" in fault for fault in faults(folder))
    for name in ("assignment.toml", "hidden/cases.toml"):
        text = (folder / name).read_text("utf-8").splitlines()
        (folder / name).write_text("\n".join(line for line in text if "tolerance" not in line), "utf-8")
    wide = next(case for case in evaluate.evaluate(load(folder)).cases if case.id == "wide")
    assert (wide.cost, wide.shapes, wide.bounds) == (None, {}, {})
    replace(folder, '"int64"', '"int65"')
    assert any("dtype 'int65'" in fault for fault in faults(folder))
    replace(folder, "episode=None", "budget=lambda params: None, episode=None")
    assert any("budget gave None" in fault for fault in faults(folder))
    tensors = 'TensorRegion("p", {"w": ("float33", (2, -1)), "": ("int8", ())}, "from_candidate")'
    replace(folder, 'BlobRegion("plan", "int65", 10, "from_candidate")', tensors)
    replace(folder, "import BlobRegion", "import TensorRegion")
    for words in ("dtype 'float33'", "shape (2, -1)", "no name that a file can hold"):
        assert any(words in fault for fault in faults(folder))
