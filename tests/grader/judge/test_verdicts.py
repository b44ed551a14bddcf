"""The score's last questions: which reason a student reads for having no rank."""

from pathlib import Path

import pytest

from grader.assignment import load
from grader.contract import Text, TimedResult, Verdict
from grader.judge import verdicts
from grader.messages import text

SCATTERED = text("scattered", width="9%", rounds=40, target="5%")


@pytest.mark.parametrize(
    ("structural", "reason", "codes"),
    [
        (text("no_freezer"), SCATTERED, ["no_freezer", "scattered"]),
        (None, SCATTERED, ["scattered"]),
        (text("not_calibrated"), text("not_calibrated"), ["not_calibrated"]),
    ],
)
def test_what_lies_in_the_machine_is_said_before_what_lies_in_the_times(
    folder: Path, structural: Text | None, reason: Text, codes: list[str]
) -> None:
    timed = TimedResult(case="wide", part="kernel", verdict=Verdict.UNSTABLE_TIMING, message=reason)
    score = verdicts.score(
        load(folder).spec, "cpu", [], [], [timed], verdict=Verdict.UNSTABLE_TIMING, unranked=structural
    )
    assert not score.ranked
    assert score.fraction_reason == reason
    shown = score.unranked_reason
    assert shown is not None
    assert shown.code == codes[0]
    sentences = [one for one in (structural, reason) if one is not None and one.code in codes]
    for language in ("en", "zh"):
        places = [getattr(shown, language).index(getattr(one, language)) for one in sentences]
        assert places == sorted(places)
        assert all(getattr(shown, language).count(getattr(one, language)) == 1 for one in sentences)
