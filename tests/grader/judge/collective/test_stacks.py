"""Stacks are what the submission wrote into a pipe: they name a place, and nothing in them is trusted."""

from hypothesis import given
from hypothesis import strategies as st

from grader.judge.collective.stacks import parse

FILES = {"solution.py": b"import x\nrequest.wait()\nwork()\n"}
HEAD = "Current thread 0x00007f00 (most recent call first):\n"


def test_the_innermost_frame_of_the_submission_is_named() -> None:
    written = f"""{HEAD}  File "/a/torch/distributed/distributed_c10d.py", line 2 in recv
  File "/tmp/submission/solution.py", line 3 in ring
"""
    found = parse(written, FILES)
    assert (found.at, found.waits) == ("solution.py, line 3, in ring", True)


def test_a_line_that_waits_by_itself_is_a_wait() -> None:
    for line, waits in ((2, True), (3, False)):
        assert parse(f'{HEAD}  File "/s/submission/solution.py", line {line} in f\n', FILES).waits is waits


def test_a_number_without_end_is_no_line() -> None:
    assert parse(f'{HEAD}  File "/s/submission/solution.py", line {"9" * 5000} in f\n', FILES).at == "?"


_FRAME = ('File "', "/submission/", "solution.py", '", line ', "0", "2", "9" * 4400, " in ", "f")
_PIECES = (HEAD, "Thread 0x1\n", *_FRAME, "\n", "\0")


@given(st.lists(st.sampled_from(_PIECES)))
def test_nothing_that_is_written_there_raises(pieces: list[str]) -> None:
    assert len(parse("".join(pieces), FILES).at) <= 200
