"""Files that never run: refused as they are, or by the compiler."""

import pytest

from grader.contract import FailureClass, JobLimits, Language, Verdict
from tests.grader.session.scale import Broken, Grade, cpp


@pytest.mark.parametrize(
    ("files", "language", "code"),
    [
        ({"solution.py": b""}, None, "empty_file"),
        ({"solution.py": b"#" * (2 << 20)}, None, "too_large"),
        ({"solution.java": b"class A {}"}, None, "wrong_suffix"),
        ({"solution.cu": b"int x;"}, None, "language_not_taken"),
        ({"solution.py": b"x = 1"}, Language.CPP, "wrong_language"),
    ],
)
def test_files_that_cannot_be_graded_never_reach_a_sandbox(
    grade: Grade, files: dict[str, bytes], language: Language | None, code: str
) -> None:
    report = grade(files, backend=Broken(), language=language)
    assert (report.verdict, report.message.code) == (Verdict.BUILD_ERROR, code)
    assert report.failure_class is FailureClass.STUDENT
    assert report.tests == ()


def test_a_build_error_shows_the_whole_log(grade: Grade) -> None:
    report = grade(cpp(head="#warning look here\nint x = unknown;\n"))
    assert (report.verdict, report.message.code) == (Verdict.BUILD_ERROR, "compile_error")
    assert report.build is not None
    assert "look here" in report.build.log
    assert "solution.cpp:2:9: error:" in report.build.log
    assert report.tests == ()


BIG_CONSTANT = (
    "constexpr int f(int n) { return n < 2 ? 1 : f(n - 1) + f(n - 2); }\nconstexpr int big = f(60);\n"
)


@pytest.mark.parametrize("head", ['#include "/dev/zero"\n', BIG_CONSTANT])
def test_a_build_without_end_is_ended(grade: Grade, head: str) -> None:
    report = grade(cpp(head=head), limits=JobLimits(build_seconds=2.0))
    assert report.verdict in (Verdict.TIME_LIMIT, Verdict.MEMORY_LIMIT, Verdict.BUILD_ERROR)
    assert report.failure_class is FailureClass.STUDENT
    assert report.tests == ()
