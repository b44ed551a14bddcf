"""No cheat of the corpus gains against the judge, and every one of them gains against a naive grader.

Here one of each family is tried, and some that the commit draws; `make attacks` tries all.
"""

import pytest

from grader.judge import timed
from grader.sandbox.process import SandboxProcess
from tests.attacks import corpus, grading
from tests.attacks.corpus import Attack
from tests.attacks.grading import Best, Judged, Naive

LARGE_CACHE = 512 << 20
"""Bytes: evicting it takes longer than computing all slots of a round."""
FAMILIES = 8


@pytest.mark.alone
def test_an_attack_gains_nothing(attack: Attack, judged: Judged) -> None:
    found = judged.attempt(attack)
    assert not found.gained, f"{found} beside the honest {judged.honest(attack.path.suffix)}"
    assert found.verdict in attack.allowed


@pytest.mark.alone
def test_the_same_attack_beats_a_naive_grader(attack: Attack, naive: Naive) -> None:
    assert naive.gains(attack), "gains nowhere, so it proves nothing"


@pytest.mark.parametrize("suffix", [".py", ".cpp"])
def test_the_honest_program_is_accepted(suffix: str) -> None:
    assert grading.judge(corpus.PROGRAMS / f"{corpus.HONEST}{suffix}").accepted


def test_the_corpus_is_large_and_a_third_of_it_lies_below_python() -> None:
    programs = corpus.attacks()
    assert len(programs) >= 60
    below = [one for one in programs if one.path.suffix == ".cpp" or "ctypes" in one.path.read_text()]
    assert len(below) >= len(programs) / 3
    assert len({one.family for one in programs}) >= FAMILIES


def test_a_run_draws_one_of_each_family_and_others_by_the_commit() -> None:
    families = {one.family for one in corpus.attacks()}
    draws = [corpus.chosen(seed) for seed in ("a", "a", "b")]
    assert draws[0] == draws[1] != draws[2]
    for drawn in draws:
        assert {one.family for one in drawn} == families
        assert len(drawn) == len(families) + corpus.REMAINDER


@pytest.mark.alone
@pytest.mark.parametrize("frozen", [False, True])
def test_it_is_the_freezer_that_stops_a_helper(
    frozen: bool, judged: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, best = judged.honest(".cpp"), Best()
    # A helper gains what it computes between fill and `go`: with a large cache to evict, that is much.
    monkeypatch.setattr(timed, "last_level_bytes", lambda: LARGE_CACHE)
    if not frozen:
        monkeypatch.setattr(SandboxProcess, "freezer", None)
    gained = False
    for _ in range(grading.CONFIRMATIONS):
        outcome = grading.judge(corpus.PROGRAMS / "fork_helper.cpp")
        if frozen and not outcome.accepted:
            return  # Its two processes were stopped in the midst of what they share: that gains nothing either.
        assert outcome.accepted
        best.take(outcome)
        gained = gained or best.gains(usual)
    assert gained is not frozen, f"{best} beside the honest {usual}"
