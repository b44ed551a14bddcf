"""`solmark grade` as a student runs it: a real process, a real sandbox, exit codes, JSON."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.cli import grade, main
from grader.cli.exit_codes import INFRASTRUCTURE
from grader.contract import Report, Verdict, read

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "reference/kernels/add-rmsnorm"
TRIES = 3
"""A neighbour can make the times of one grading scatter, hardly those of three."""


def solmark(*arguments: str | Path, language: str = "en") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("solmark"), *map(str, arguments)],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "SOLMARK_LANG": language, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_json_is_the_report_of_an_accepted_solution() -> None:
    done = solmark(
        "grade",
        "kernels/add-rmsnorm",
        REFERENCE / "solution.py",
        "--mode",
        "test",
        "--json",
        "--seed",
        "00" * 16,
    )
    assert done.returncode == 0, done.stderr
    report = read(Report, done.stdout)
    assert report.verdict is Verdict.ACCEPTED
    assert report.hidden is not None
    assert report.hidden.passed
    assert report.phases
    assert report.staff is not None
    assert report.staff.seed == "00" * 16


@pytest.mark.parametrize(("language", "words"), [("en", "wrong answer"), ("zh", "答案错误")])
def test_a_wrong_answer_names_its_first_wrong_element(language: str, words: str, tmp_path: Path) -> None:
    source = tmp_path / "solution.py"
    source.write_text(
        "def solve(x, res, w, y, res_out, *, eps):\n    res_out.copy_(x + res)\n    y.zero_()\n"
    )
    done = solmark("grade", "kernels/add-rmsnorm", source, "--mode", "test", language=language)
    assert done.returncode == 1, done.stderr
    assert words in done.stdout
    assert "y[0, 0]" in done.stdout


def test_a_file_too_large_is_refused_by_its_true_size(tmp_path: Path) -> None:
    source = tmp_path / "solution.py"
    source.write_bytes(b"#" * (2 << 20))
    done = solmark("grade", "kernels/add-rmsnorm", source, "--mode", "test")
    assert done.returncode == 1, done.stderr
    assert str(2 << 20) in done.stdout


def test_a_defect_of_the_grader_blames_no_submission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_name: str) -> Path:
        raise RuntimeError("a defect of ours")

    source = tmp_path / "solution.py"
    source.touch()
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # typer puts its own there.
    monkeypatch.setattr(sys, "argv", ["solmark", "grade", "kernels/add-rmsnorm", str(source)])
    monkeypatch.setattr(grade, "find", broken)
    with pytest.raises(SystemExit) as ended:
        main.app()
    assert ended.value.code == INFRASTRUCTURE
    assert "a defect of ours" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_report_that_cannot_be_written_blames_nobody(options: list[str], tmp_path: Path) -> None:
    source = tmp_path / "solution.py"
    source.touch()
    program = str(Path(sys.executable).with_name("solmark"))
    command = [program, "grade", "kernels/add-rmsnorm", str(source), *options]
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "PYTHONIOENCODING": "latin-1"}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=full, stderr=subprocess.PIPE, check=False, timeout=120
        )
    assert done.returncode == 3
    assert b"could not be written: No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr
    # A terminal in another encoding than UTF-8 shows what it can; JSON is always UTF-8.
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**environment, "SOLMARK_LANG": "zh"},
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1, done.stderr
    assert ("空文件".encode() if options else b"kernels/add-rmsnorm") in done.stdout


def test_usage_errors_are_said_in_chinese() -> None:
    for arguments in (("kernels/nothing", __file__), ("kernels/add-rmsnorm", "absent.py")):
        done = solmark("grade", *arguments, language="zh")
        assert done.returncode == 2
        assert any("\u4e00" <= letter <= "\u9fff" for letter in done.stderr)


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("kernels/add-rmsnorm", "absent.py"), "absent.py"),
        (("kernels/add-rmsnrm", __file__), "kernels/add-rmsnorm"),
        (("kernels/add-rmsnorm", __file__, "--seed", "xyz"), "--seed"),
        (("kernels/add-rmsnorm", __file__, "--mode", "guess"), "'test', 'grade'"),
        (("kernels/add-rmsnorm", __file__, "--mode", "memcheck"), "CUDA device"),
        (("kernels/add-rmsnorm", ROOT), "regular file"),
        (("kernels/add-rmsnorm", __file__, "--hardware", "h900"), "h900"),
        (("kernels/add-rmsnorm", __file__, "--hardware", "../../x"), "../../x"),
        (("kernels/add-rmsnorm", __file__, "--sandbox", "cardboard"), "cardboard"),
        (("k" * 5000, __file__), "kkk"),
        (("nope\x1b[31m.py", __file__), "nope.py"),
    ],
)
def test_wrong_usage_says_what_to_change(arguments: tuple[str | Path, ...], hint: str) -> None:
    done = solmark("grade", *arguments)
    assert done.returncode == 2, done.stdout
    assert hint in done.stderr
    assert "Traceback" not in done.stderr


DOUBLE = """
#include "solmark.h"
#include <unistd.h>
extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    usleep(2000);
    const int64_t n = t[0].shape[0] * t[0].shape[1];
    for (int64_t i = 0; i < n; ++i)
        ((float *)t[1].data)[i] = n == 7 ? 0 : 2 * ((const float *)t[0].data)[i];
    return 0;
}
"""
"""Right but for seven elements, which only the hidden case of the last test here has."""


@pytest.mark.alone  # Its times must not scatter, and nothing freezes the program here.
@pytest.mark.timeout(300)
def test_a_machine_without_a_freezer_grades_and_says_unranked(folder: Path, tmp_path: Path) -> None:
    toml = folder / "assignment.toml"
    toml.write_text(
        toml.read_text("utf-8").replace("rows = 1024, columns = 4096", "rows = 16, columns = 256")
    )
    source = tmp_path / "solution.cpp"
    source.write_text(DOUBLE)
    program = Path(sys.executable).with_name("solmark")
    hidden = 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"'
    command = ["unshare", "--mount", "--", "/bin/sh", "-c", hidden, "sh", program, "grade", folder, source]
    for options in (["--json"], []):
        for _ in range(TRIES):
            done = subprocess.run(
                [*map(str, command), *options],
                cwd=ROOT,
                env={"PATH": "/usr/sbin:/usr/bin:/bin", "HOME": "/nonexistent", "SOLMARK_LANG": "en"},
                capture_output=True,
                text=True,
                check=False,
                timeout=140,
            )
            if done.returncode != INFRASTRUCTURE:
                break
        assert done.returncode == 0, done.stdout + done.stderr
        if not options:
            words = " ".join(done.stdout.split())
            assert "accepted" in words
            assert "unranked: Times are shown but not ranked: this machine cannot freeze" in words
            continue
        report = read(Report, done.stdout)
        assert report.verdict is Verdict.ACCEPTED
        assert [case.measure is not None for case in report.timed] == [True]
        assert report.score is not None
        assert report.score.unranked_reason is not None
        assert (report.score.ranked, report.score.unranked_reason.code) == (False, "no_freezer")


def test_a_hidden_failure_is_shown_in_full_to_who_has_the_hidden_cases(folder: Path, tmp_path: Path) -> None:
    cases = folder / "hidden/cases.toml"
    drawn = "rows = { range = [1, 300] }, columns = { choice = [7, 64, 1031] }"
    cases.write_text(cases.read_text("utf-8").replace(drawn, "rows = 1, columns = 7"), "utf-8")
    source = tmp_path / "solution.cpp"
    source.write_text(DOUBLE)
    seed = "5e" * 16
    arguments = ("grade", folder, source, "--mode", "test", "--seed", seed)
    done = solmark(*arguments)
    assert done.returncode == 1, done.stdout + done.stderr
    for shown in (
        "hidden tests: not all passed",
        "y[0, 0]: expected ",
        "drawn: rows = 1, columns = 7, kind = 'plain'\n",
        f"seed: {seed}\n",
        f"solmark grade kernels/scale solution.cpp --mode test --seed {seed}\n",
    ):
        assert shown in done.stdout
    shutil.rmtree(folder / "hidden")  # As in a student's copy.
    done = solmark(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    assert seed not in done.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_a_grading_and_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    source = tmp_path / "solution.py"
    source.write_text("import time\n\n\ndef solve(*_arguments, **_scalars):\n    time.sleep(9)\n")
    program = Path(sys.executable).with_name("solmark")
    # Whoever started the tests in the background may have had these ignored, and that is inherited.
    heed = ["env", "--default-signal=INT,HUP,TERM"]
    command = [*heed, str(program), "grade", "kernels/add-rmsnorm", str(source)]
    with begun.open("w") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output, start_new_session=True)
        try:
            deadline = time.monotonic() + 60
            while not _descendants(process.pid, "candidate"):
                assert process.poll() is None, begun.read_text()
                assert time.monotonic() < deadline
                time.sleep(0.05)
            for _ in range(3):  # Who sends it is impatient.
                os.kill(process.pid, number)
                time.sleep(0.1)
            assert process.wait(60) == 128 + number, begun.read_text()
        finally:
            process.kill()
            process.wait()
    assert not [path for path in Path("/sys/fs/cgroup").rglob(f"*-{process.pid}-*") if path.is_dir()]


def _descendants(pid: int, word: str) -> list[int]:
    """Those whose command line has the word in it."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            try:
                line = Path(f"/proc/{child}/cmdline").read_bytes()
            except OSError:
                continue
            found += [child] * (word.encode() in line) + _descendants(child, word)
    return found


def test_a_fault_of_the_assignment_shows_file_line_and_exception(tmp_path: Path) -> None:
    folder = tmp_path / "add-rmsnorm"
    shutil.copytree(ROOT / "assignments/kernels/add-rmsnorm", folder)
    task = folder / "task.py"
    lines = task.read_text("utf-8").splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("PARTS"))
    broken = [
        "import os",
        "def lost(*_arguments):",
        "    print('looking')",
        "    os.write(1, b'below')",
        "    raise KeyError('lost')",
        "",
    ]
    task.write_text(
        "\n".join(lines[:at] + broken + lines[at:]).replace("oracle=oracle", "oracle=lost"), "utf-8"
    )
    assert "oracle=lost" in task.read_text("utf-8")
    done = solmark("grade", folder, REFERENCE / "solution.py", "--mode", "test")
    assert done.returncode == 3, done.stdout
    assert f'task.py", line {at + 5}' in done.stdout.replace("\n", "")
    for written in ("looking", "below"):  # Not on stdout, which is the Report's alone.
        assert written in done.stderr
        assert written not in done.stdout
    assert "KeyError: 'lost'" in done.stdout


def test_an_archive_is_graded_as_its_files_and_a_hostile_one_is_a_wrong_use(tmp_path: Path) -> None:
    shutil.copy(REFERENCE / "solution.py", tmp_path / "solution.py")
    archive = shutil.make_archive(str(tmp_path / "work"), "zip", tmp_path, "solution.py")
    done = solmark("grade", "kernels/add-rmsnorm", archive, "--mode", "test", "--json")
    assert done.returncode == 0, done.stderr
    assert read(Report, done.stdout).verdict is Verdict.ACCEPTED
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    linked = shutil.make_archive(str(tmp_path / "linked"), "tar", tmp_path, "link.py")
    refused = solmark("grade", "kernels/add-rmsnorm", linked)
    assert refused.returncode == 2
    assert "is a link" in refused.stderr
