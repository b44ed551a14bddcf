"""R01: the oracle against differences of values, the reference in every case, mistakes told by their name."""

import itertools
import re
import secrets
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks import results_schema, rl
from benchmarks.rl import ASSIGNMENT, PARTS, REFERENCE, TASK, module, outcome
from grader.check.slots import filled
from grader.task import FunctionTask, inputs

LOSSES = [name for name in TASK.questions.ARGUMENTS if TASK.questions.is_loss(name)]
CASES = {case.id: case for case in ASSIGNMENT.cases("cpu", bytes(16))}
FACTOR = 1.5
FLOOR = {"cpu": (6e-7, 2.5e-6), "h200": (1e-6, 3e-6)}
"""Least limits of a call and of an element."""


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def questions(function: str, **params: Any) -> Any:
    """Drawn questions of a function; small ones, unless the case says otherwise."""
    mode = {"mode": "sequence_mean"} if function == "aggregate" else {}
    given = {"function": function, "rows": 6, "columns": 5, "vocabulary": 4, "group": 3, "questions": 3}
    return TASK.questions.drawn({**given, **mode, **params}, np.random.default_rng(1))


# --- the oracle ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", LOSSES)
@pytest.mark.parametrize("change", ["near", "wide"])
def test_a_gradient_is_the_difference_of_values(function: str, change: str) -> None:
    oracle = TASK.oracle.ORACLES[function]
    first = TASK.questions.ARGUMENTS[function][0]
    for question in questions(function, mask="holes", change=change, padding="garbage"):
        found = oracle(question.given, question.keywords)["gradient"]
        for place in itertools.product(*map(range, found.shape)):
            sides = []
            for step in (1e-6, -1e-6):
                moved = question.given[first].clone()
                moved[place] += step
                sides.append(float(oracle({**question.given, first: moved}, question.keywords)["value"]))
            assert float(found[place]) == pytest.approx((sides[0] - sides[1]) / 2e-6, abs=2e-8, rel=1e-5)


@pytest.mark.parametrize(
    ("function", "mode"),
    [
        *((name, {}) for name in LOSSES if name != "aggregate"),
        *(("aggregate", {"mode": mode}) for mode in ("token_mean", "sequence_mean", "constant")),
    ],
)
def test_micro_batches_add_up_to_the_batch_however_it_is_cut(function: str, mode: dict[str, str]) -> None:
    oracle = TASK.oracle.ORACLES[function]
    whole = next(iter(questions(function, mask="empty", rows=8, padding="garbage", **mode)))
    expected = oracle(whole.given, whole.keywords)
    for parts in (2, 4, 8):
        pieces = [*questions(function, mask="empty", rows=8, padding="garbage", parts=parts, **mode)]
        answers = [oracle(piece.part(), piece.keywords) for piece in pieces[:parts]]
        torch.testing.assert_close(sum(one["value"] for one in answers), expected["value"])
        torch.testing.assert_close(torch.cat([one["gradient"] for one in answers]), expected["gradient"])


def test_losses_by_hand() -> None:
    """Two sequences of two and one token; the second ratio is beyond the limit, with a good advantage."""
    ratio = torch.tensor([[1.0, 2.0], [0.5, 9.0]], dtype=torch.float64)
    given = {
        "logp": ratio.log(),
        "old_logp": torch.zeros(2, 2, dtype=torch.float64),
        "ref_logp": ratio.log(),
        "advantages": torch.tensor([1.0, -2.0], dtype=torch.float64),
        "mask": torch.tensor([[True, True], [True, False]]),
    }

    def value(name: str, **keywords: Any) -> float:
        return float(TASK.oracle.ORACLES[name](given, keywords)["value"])

    # Tokens: -1, -1.2 (clipped), and 2 * 0.8: pulled back no further than the limit.
    assert value("dapo_loss", clip_low=0.2, clip_high=0.2) == pytest.approx((-1 - 1.2 + 1.6) / 3)
    assert value("grpo_loss", clip=0.2, beta=0.1) == pytest.approx(((-1 - 1.2) / 2 + 1.6) / 2)
    assert value("dr_grpo_loss", clip=0.2, budget=4) == pytest.approx(((-1 - 1.2) / 4 + 1.6 / 4) / 2)
    assert value("gspo_loss", clip_low=0.2, clip_high=0.3) == pytest.approx((-1.3 + 1.6) / 2)


def test_advantages_by_hand() -> None:
    rewards = torch.tensor([0.0, 1.0, 0.1, 0.1], dtype=torch.float64)
    advantages = TASK.oracle.group_advantages({"rewards": rewards}, {"group": 2, "normalize": True})
    assert advantages["values"].tolist() == pytest.approx([-(0.5**0.5), 0.5**0.5, 0, 0], rel=3e-6)


# --- the reference, and mistakes ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.part == "losses"])
def test_the_reference_is_right_whatever_is_drawn(name: str, seed: int) -> None:
    drawn = {case.id: case for case in ASSIGNMENT.cases("cpu", seed.to_bytes(16, "big"))}
    found = outcome(drawn[name], module(REFERENCE / "grpo.py"), seed)
    assert found.passed, found.en


def test_the_reference_learns_every_hidden_substitution() -> None:
    for seed in range(3):
        found = outcome(CASES["hidden-learn"], module(REFERENCE / "grpo.py"), seed)
        assert found.passed
        assert found.en.startswith("5 of 5")


FAULTS = {
    "advantages_of_the_whole_batch": "each group has its own",
    "cheat_losses_in_float32": "about the precision of float32",
    "cheat_policy_from_elsewhere": "0 of",
    "cheat_right_value_without_gradient": "no gradient reaches it",
    "climbs_down": "look at the sign of the loss",
    "clips_whatever_the_sign": "The clipped ratio is always taken",
    "dapo_clips_alike": "the upper limit is 1 + clip_high",
    "deviation_divides_by_n": "by n - 1",
    "dr_grpo_divides_by_the_length": "that is another loss's",
    "equal_rewards_give_nan": "There is NaN in it",
    "gae_goes_on_behind_the_end": "Behind the last token of a sequence there is no value",
    "groups_across_the_batch": "which rows form a group",
    "grpo_takes_the_mean_of_tokens": "The mean was taken over all tokens",
    "grpo_turns_the_penalty_round": "the two policies the wrong way round",
    "gspo_adds_the_log_ratios": "were added up; GSPO takes their mean",
    "learns_until_nan": "",
    "micro_batch_takes_its_own_mean": "over this micro-batch alone",
    "multiplies_by_the_mask": "There is NaN in it",
    "old_policy_is_the_new_one": "The ratio is always 1",
    "opd_turned_round": "That is KL(teacher, policy)",
    "widens_the_policy": "",
}
"""By wrong losses: what is said about each. The two without are refused by the judge, in a sandbox."""


def test_every_wrong_loss_has_its_sentence() -> None:
    wrong = {path.stem for path in (REFERENCE / "wrong").glob("*.py") if "name=grpo.py" in path.read_text()}
    assert wrong == set(FAULTS)


@pytest.mark.parametrize("name", sorted(name for name, said in FAULTS.items() if said))
def test_every_wrong_loss_fails_the_gate_or_the_values_and_is_told_why(name: str) -> None:
    said: list[str] = []
    for case in CASES.values():
        if case.part in ("losses", "learn") and case.visibility == "public":
            found = outcome(case, module(REFERENCE / "wrong" / f"{name}.py"), 7)
            said += [] if found.passed else [found.en]
            assert found.passed or re.search("[\u4e00-\u9fff]", found.zh)
    assert FAULTS[name] in " ".join(said), said


@pytest.mark.parametrize("function", sorted(TASK.questions.ARGUMENTS))
def test_every_known_mistake_is_told_apart_from_the_right_answer_and_named(function: str) -> None:
    """Each mistake of the list, played by itself, is recognised in some question."""
    rules = TASK.oracle.RULES
    known = TASK.mistakes._of_loss(function) if function in rules else TASK.mistakes._OTHERS[function]
    kinds: list[dict[str, Any]] = [{}, {"parts": 2, "mask": "holes"}, {"mode": "token_mean", "parts": 2}]
    for mistake, en, _ in known:
        named = set()
        for kind in kinds if TASK.questions.is_loss(function) else kinds[:1]:
            for question in questions(function, rows=12, columns=9, questions=6, **kind):
                given, keywords = question.part(), question.keywords
                expected, found = TASK.oracle.ORACLES[function](given, keywords), mistake(given, keywords)
                named.add(TASK.mistakes.of(function, given, keywords, expected, found, _fits(function)))
        assert en in {sentence[0] for sentence in named if sentence}, en


def _fits(function: str) -> Callable[[torch.Tensor, torch.Tensor], bool]:
    return lambda one, other: TASK.losses._first_wrong(function, one, other) is None


@pytest.mark.parametrize(
    ("returned", "wanted"),
    [
        (None, "it returned a NoneType"),
        (0.5, "it returned a float"),
        (torch.zeros(3), "it returned float32[3]"),
        (torch.zeros(12, 10, dtype=torch.float64), "float64[12, 10]; a float64 tensor of one element"),
    ],
)
def test_an_answer_of_another_form_is_named(returned: Any, wanted: str) -> None:
    submission = ModuleType("submission")
    submission.__dict__["dapo_loss"] = lambda *_given, **_more: returned
    found = outcome(CASES["dapo"], submission, 1)
    assert not found.passed
    assert wanted in found.en


def test_more_sequences_than_fit_are_refused_with_a_hint() -> None:
    submission = ModuleType("submission")
    submission.__dict__["train_step"] = lambda policy, _optimizer, batch: policy.logp(
        batch.prompts, batch.responses
    )
    assert "use micro-batches" in outcome(CASES["learn"], submission, 1).en


# --- log-probabilities --------------------------------------------------------------------------------------


@cache
def noted() -> dict[str, tuple[float, ...]]:
    """The honest errors as the folder notes them beside each limit."""
    text = "".join(
        (ASSIGNMENT.root / name).read_text("utf-8") for name in ("assignment.toml", "hidden/cases.toml")
    )
    pattern = r'^id = "([^"]+)"$(?:(?!^id = ).)*?^# honest: (\S+) (\S+)$'
    return {
        name: tuple(map(float, errors))
        for name, *errors in re.findall(pattern, text, re.MULTILINE | re.DOTALL)
    }


@pytest.mark.parametrize("hardware", ["cpu", "h200"])
def test_limits_are_at_most_one_and_a_half_times_the_honest_error(hardware: str) -> None:
    for case in ASSIGNMENT.cases(hardware, bytes(16)):
        if case.part == "logprob":
            limit = case.tolerance["logp"]
            for bound, honest, floor in zip(
                (limit.worst_row, limit.worst_element), noted()[case.id], FLOOR[hardware], strict=True
            ):
                assert honest < bound <= max(FACTOR * honest, floor) * 1.03, case.id


@pytest.mark.parametrize("name", ["tiny", "tile-plus-one", "peaked", "far", "hidden-shapes", "hidden-peaked"])
def test_honest_arithmetic_is_within_the_limits(name: str) -> None:
    task = PARTS["logprob"]
    assert isinstance(task, FunctionTask)
    case = CASES[name]
    limit = case.tolerance["logp"]
    for solve in (module(REFERENCE / "solution.py").solve, module(REFERENCE / "naive.py").solve):
        tensors = tuple(task.tensors(case.params))
        slot = filled(task, case.params, tensors, secrets.randbits(128))
        given = {tensor.name: slot[tensor.name] for tensor in inputs(tensors)}
        expected = task.oracle(case.params, given)["logp"]
        logp = torch.empty(case.params["tokens"])
        solve(given["h"], given["w"], given["labels"], logp)
        error = (logp.double() - expected).abs()
        assert float(error.norm() / expected.norm()) <= limit.worst_row
        assert float(error.max() / expected.square().mean().sqrt()) <= limit.worst_element


# --- results ------------------------------------------------------------------------------------------------


def test_the_committed_runs_are_of_these_losses_and_as_they_should_be() -> None:
    rows = [{**row.fields, "id": row.id or ""} for row in results_schema.read(rl.OUTPUT).rows]
    assert rl.as_expected(rows)
    assert {row["id"].rpartition("/")[2] for row in rows} == set(FAULTS) | set(rl.LEARNERS)
