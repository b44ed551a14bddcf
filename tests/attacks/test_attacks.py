"""No cheat of the corpus gains against the judge, and every one of them gains against a naive grader."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.judge import timed
from grader.sandbox.process import SandboxProcess

LARGE_CACHE = 512 << 20
"""Bytes: evicting it takes longer than computing all slots of a round."""
GAIN = 0.9
"""Accepted in less than this share of the honest time is a gain."""
CONFIRMATIONS = 3
Grader = Callable[[Path], Any]


@pytest.mark.alone
def test_an_attack_gains_nothing(attack: Any, grade: Grader, best: Any, honest: Any) -> None:
    allowed = {"accepted" if verdict == "no_gain" else verdict for verdict in attack.expect}
    suffix = attack.path.suffix
    for _ in range(CONFIRMATIONS):
        outcome = grade(attack.path)
        assert outcome.verdict in allowed
        if not outcome.accepted:
            return
        assert attack.gain == "time", "accepted although wrong"
        best.take(outcome)
        # Both at their best: neither gains by the machine's moods, which the honest program has as well.
        if not best.gains(honest.best(suffix), GAIN) or not best.gains(honest.best(suffix, again=True), GAIN):
            return
    pytest.fail(f"{best} is less than {GAIN} of the honest {honest.best(suffix)}")


@pytest.mark.alone
def test_the_same_attack_beats_a_naive_grader(
    attack: Any, naive: Grader, naive_honest: Callable[[str], float]
) -> None:
    for _ in range(CONFIRMATIONS):
        outcome = naive(attack.path)
        assert outcome.accepted
        if attack.gain == "acceptance" or outcome.seconds < GAIN * naive_honest(attack.path.suffix):
            return
    pytest.fail("gains nowhere, so it proves nothing")


@pytest.mark.parametrize("suffix", [".py", ".cpp"])
def test_the_honest_program_is_accepted(suffix: str, grade: Grader) -> None:
    assert grade(Path(__file__).parent / "programs" / f"honest{suffix}").accepted


@pytest.mark.alone
@pytest.mark.parametrize("frozen", [False, True])
def test_it_is_the_freezer_that_stops_a_helper(
    frozen: bool, grade: Grader, best: Any, honest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = honest.best(".cpp")
    # A helper gains what it computes between fill and `go`: with a large cache to evict, that is much.
    monkeypatch.setattr(timed, "last_level_bytes", lambda: LARGE_CACHE)
    if not frozen:
        monkeypatch.setattr(SandboxProcess, "freezer", None)
    gained = False
    for _ in range(CONFIRMATIONS):
        outcome = grade(Path(__file__).parent / "programs" / "fork_helper.cpp")
        if frozen and not outcome.accepted:
            return  # Its two processes were stopped in the midst of what they share: that gains nothing either.
        assert outcome.accepted
        best.take(outcome)
        gained = gained or best.gains(usual, GAIN)
    assert gained is not frozen, f"{best} beside the honest {usual}"
