"""`solmark grade` as a student runs it: a real process, a real sandbox, exit codes, JSON."""

import subprocess
import sys
from pathlib import Path

import pytest

from grader.contract import Report, Verdict, read

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "reference/kernels/add-rmsnorm"


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
        (("kernels/add-rmsnorm", __file__, "--mode", "memcheck"), "`test` or `grade`"),
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
