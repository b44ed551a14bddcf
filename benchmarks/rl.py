"""The losses of rl/grpo-core: what the gate says of each, right and wrong, and how many value tests fail.

The submissions are our own, so they run in this process, through the assignment's adapter. A right loss must
pass the gate, that of the reference's step five of five; a wrong one must fail the gate or a value test.

    python -m benchmarks.rl
"""

import argparse
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from benchmarks import results_schema
from grader import assignment as assignments
from grader.judge import environment
from grader.task import Case, DialogueTask, Json, Outcome, Raised, Refused

OUTPUT = results_schema.RESULTS / "rl.json"
ASSIGNMENT = assignments.load(Path(__file__).parents[1] / "assignments/rl/grpo-core")
REFERENCE = Path(__file__).parents[1] / "reference/rl/grpo-core"
PARTS = ASSIGNMENT.parts()
PACKAGE = PARTS["losses"].episode.__module__.rpartition(".")[0]  # type: ignore[union-attr]
TASK: Any = sys.modules[f"{PACKAGE}.task"]
SEED = bytes(range(16))
SUBSTITUTIONS = 5
NEEDED = 4
REFERENCE_STEP = "dapo_loss"
LEARNERS = {
    "ppo_loss": {"clip": 0.2},
    "grpo_loss": {"clip": 0.2, "beta": 0.0},
    "dr_grpo_loss": {"clip": 0.2, "budget": 6},
    "gspo_loss": {"clip_low": 0.2, "clip_high": 0.28},
    "dapo_loss": {"clip_low": 0.2, "clip_high": 0.28},
}
"""Losses that the policy can learn by, and with what."""


def module(path: Path) -> ModuleType:
    """A submission's file, with a `right.py` of its own: wrong ones change it."""
    sys.modules.pop("right", None)
    sys.path.insert(0, str(REFERENCE / "shared"))
    try:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        return loaded
    finally:
        sys.path.remove(str(REFERENCE / "shared"))


class Partner:
    """The assignment's adapter in this process: what a sandbox would answer, without one."""

    waited_ns = 0

    def __init__(self, submission: ModuleType) -> None:
        self.submission = submission
        self.places: dict[str, Mapping[str, torch.Tensor]] = {}

    def ask(self, method: str, message: Json, *, deadline_seconds: float | None = None) -> "Json | Raised":
        """One question; what the submission raises is its answer."""
        del deadline_seconds
        try:
            answer: Json = TASK.adapter.answer(self.submission, method, message, self)
        except Exception as error:  # noqa: BLE001 (whatever it raises)
            return Raised(type(error).__name__, str(error))
        return answer

    def write(self, region: str, values: torch.Tensor) -> None:
        """No region of this assignment is a plain blob."""
        raise NotImplementedError

    def read(self, region: str) -> torch.Tensor:
        """No region of this assignment is a plain blob."""
        raise NotImplementedError

    def write_tensors(self, region: str, values: Mapping[str, torch.Tensor]) -> None:
        """Both sides write here."""
        self.places[region] = {name: value.clone() for name, value in values.items()}

    def read_tensors(self, region: str) -> dict[str, torch.Tensor]:
        """Copies; of what was learned only a policy, as the judge takes it."""
        for name, shape in TASK.adapter.SHAPES.items() if region == "learned" else ():
            value = self.places[region][name]
            if value.shape != shape or not bool(value.isfinite().all()):
                raise Refused(f"{name} is no part of a policy", f"{name} 不是策略的一部分")
        return {name: value.clone() for name, value in self.places[region].items()}


def outcome(case: Case, submission: ModuleType, seed: int) -> Outcome:
    """One episode of a dialogue."""
    part = PARTS[case.part]
    assert isinstance(part, DialogueTask)
    try:
        return part.episode(case, Partner(submission), seed)
    except Refused as refused:
        return Outcome(False, refused.en, refused.zh)


def learner(name: str) -> ModuleType:
    """The reference with a step of learning by another of its losses."""
    submission = module(REFERENCE / "grpo.py")
    loss, keywords = getattr(submission, name), LEARNERS[name]

    def instead(logp: Any, old_logp: Any, advantages: Any, mask: Any, *, total: int, **_clip: Any) -> Any:
        given = [logp, old_logp, advantages, mask]
        if name == "ppo_loss":
            given[2] = advantages.unsqueeze(1).expand_as(mask)
        if name == "grpo_loss":
            given.insert(2, old_logp)
        if name in TASK.questions.PER_TOKEN:
            return loss(*given, **keywords, total=total)
        return loss(*given, **keywords, total=TASK.learning.SEQUENCES)

    sys.modules["right"].__dict__["dapo_loss"] = instead
    return submission


def rewards(submission: ModuleType) -> list[float]:
    """Mean reward of every substitution; none of what is no policy."""
    seeds = range(SUBSTITUTIONS)
    try:
        return [TASK.learning.learn(Partner(submission), seed, TASK.learning.STEPS) for seed in seeds]
    except Refused:
        return []


def failures(submission: ModuleType) -> int:
    """How many cases of values, public and hidden, the submission fails."""
    cases = [case for case in ASSIGNMENT.cases("cpu", SEED) if case.part == "losses"]
    return sum(not outcome(case, submission, 1).passed for case in cases)


def row(name: str, right: bool, submission: ModuleType) -> dict[str, Any]:
    """What came of one submission."""
    reached = rewards(submission)
    learned = sum(reward >= TASK.learning.GATE for reward in reached)
    found: dict[str, Any] = {
        "id": f"grpo-core/{name}",
        "assignment": ASSIGNMENT.id,
        "right": right,
        "learned": learned,
        "substitutions": SUBSTITUTIONS,
        "steps": TASK.learning.STEPS,
        "passes_gate": learned >= NEEDED,
        "failed_value_cases": failures(submission),
    }
    return found | ({"reward": sorted(reached)[2], "samples": {"reward": reached}} if reached else {})


def submissions() -> Iterator[tuple[str, bool, ModuleType]]:
    """The reference by each of its losses, and every wrong loss."""
    for name in LEARNERS:
        yield name, True, learner(name)
    for path in sorted((REFERENCE / "wrong").glob("*.py")):
        if "name=grpo.py" in path.read_text("utf-8"):
            yield path.stem, False, module(path)


def as_expected(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the right ones pass everything, the reference's step all five, and the wrong ones do not."""
    return all(
        one["learned"] >= (SUBSTITUTIONS if one["id"].endswith(REFERENCE_STEP) else NEEDED)
        and not one["failed_value_cases"]
        if one["right"]
        else not one["passes_gate"] or one["failed_value_cases"]
        for one in rows
    )


def main() -> int:
    """Run all, write the results; 0 if they are as they should be."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    torch.set_num_threads(1)
    rows = []
    for name, right, submission in submissions():
        rows.append(row(name, right, submission))
        print({key: value for key, value in rows[-1].items() if key != "samples"}, flush=True)
    header = results_schema.header(
        "python -m benchmarks.rl", "any", judge_version=environment.judge_version()
    )
    results_schema.write(OUTPUT, results_schema.ResultsFile.model_validate({**header, "rows": rows}))
    return 0 if as_expected(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
