"""What each function is asked: drawn values, masks, and what stands in the padding.

Parameters of a case of part `losses`: `function`, `rows`, `columns`, `questions`, and optionally

- `group`: responses to a prompt; rows are a multiple of it;
- `vocabulary`: of opd_loss;
- `mode`: of aggregate;
- `change`: how far the policy has moved: `near` (nothing is clipped), `wide`, `huge` (ratios up to e^40);
- `mask`: `full`, `ragged` (sequences of different length), `holes` (tokens of a tool among one's own),
  `empty` (some sequences have no token), `nothing` (none has any);
- `padding`: `noise` (default), or `garbage` (NaN and infinities);
- `rewards`: `noise` (default), `binary`, or `equal` (in most groups all are the same);
- `parts`: asked for in so many micro-batches, each with the whole batch's total.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.task import DType, Params, TensorRegion

if TYPE_CHECKING:
    import numpy as np
    import torch

Spec = dict[str, tuple[DType, tuple[int, ...]]]

ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "group_advantages": ("rewards",),
    "informative_groups": ("rewards",),
    "gae": ("rewards", "values", "mask"),
    "aggregate": ("values", "mask"),
    "ppo_loss": ("logp", "old_logp", "advantages", "mask"),
    "grpo_loss": ("logp", "old_logp", "ref_logp", "advantages", "mask"),
    "dr_grpo_loss": ("logp", "old_logp", "advantages", "mask"),
    "gspo_loss": ("logp", "old_logp", "advantages", "mask"),
    "dapo_loss": ("logp", "old_logp", "advantages", "mask"),
    "opd_loss": ("logits", "teacher_logits", "mask"),
}
"""Positional arguments of each function; a loss is differentiated by the first."""
PER_TOKEN = ("ppo_loss", "dapo_loss", "opd_loss")
"""Losses whose total counts tokens; that of the others counts sequences."""


@dataclass(frozen=True)
class Question:
    """One call, of some rows of the case's batch."""

    given: "Mapping[str, torch.Tensor]"
    keywords: Mapping[str, Any]
    rows: tuple[int, int] | None = None

    def part(self) -> "Mapping[str, torch.Tensor]":
        """The arguments of this call."""
        if self.rows is None:
            return self.given
        return {name: value[self.rows[0] : self.rows[1]] for name, value in self.given.items()}


def is_loss(function: str) -> bool:
    """Whether a gradient is asked for."""
    return function.endswith("_loss") or function == "aggregate"


def given_spec(params: Params) -> Spec:
    """Dtype and shape of each argument."""
    function, rows, columns = params["function"], params["rows"], params.get("columns", 1)
    table: tuple[int, ...] = (rows, columns)
    spec: Spec = {}
    for name in ARGUMENTS[function]:
        shape = table
        of_sequences = name == "advantages" and function != "ppo_loss"
        if of_sequences or function in ("group_advantages", "informative_groups"):
            shape = (rows,)
        elif name in ("logits", "teacher_logits"):
            shape = (*table, params["vocabulary"])
        spec[name] = ("bool" if name == "mask" else "float64", shape)
    return spec


def answer_spec(params: Params) -> Spec:
    """Dtype and shape of each answer, for the whole batch."""
    function, given = params["function"], given_spec(params)
    shape = next(iter(given.values()))[1]
    if function == "group_advantages":
        return {"values": ("float64", shape)}
    if function == "informative_groups":
        return {"keep": ("bool", shape)}
    if function == "gae":
        return {"advantages": ("float64", shape), "returns": ("float64", shape)}
    rows = shape[0] // params.get("parts", 1)
    return {"value": ("float64", (1,)), "gradient": ("float64", (rows, *shape[1:]))}


def regions(params: Params) -> tuple[TensorRegion, ...]:
    """Arguments out, answers back. NaN is an answer too, to be told what it is."""
    return (
        TensorRegion("given", given_spec(params), "to_candidate", finite=False),
        TensorRegion("answer", answer_spec(params), "from_candidate", finite=False),
    )


def drawn(params: Params, random: "np.random.Generator") -> Iterator[Question]:
    """The calls of a case, in order."""
    import torch

    for _ in range(params["questions"]):
        given = {name: torch.from_numpy(value) for name, value in _given(params, random).items()}
        keywords = _keywords(params, random)
        parts = params.get("parts", 1)
        if parts == 1:
            yield Question(given, keywords)
            continue
        counts = given["mask"].sum(1)
        by_tokens = params["function"] in PER_TOKEN or params.get("mode") == "token_mean"
        total = int(counts.sum()) if by_tokens else int((counts > 0).sum())
        size = params["rows"] // parts
        for first in range(0, params["rows"], size):
            yield Question(given, {**keywords, "total": total}, (first, first + size))


def _keywords(params: Params, random: "np.random.Generator") -> dict[str, Any]:
    def between(low: float, high: float) -> float:
        return round(float(random.uniform(low, high)), 3)

    makers: Mapping[str, Callable[[], dict[str, Any]]] = {
        "group_advantages": lambda: {"group": params["group"], "normalize": bool(random.random() < 0.75)},
        "informative_groups": lambda: {"group": params["group"]},
        "gae": lambda: {"gamma": between(0.9, 1.0), "lam": between(0.8, 1.0)},
        "aggregate": lambda: (
            {"mode": params["mode"]}
            | ({"budget": params["columns"] + 5} if params["mode"] == "constant" else {})
        ),
        "ppo_loss": lambda: {"clip": between(0.1, 0.3)},
        "grpo_loss": lambda: {"clip": between(0.1, 0.3), "beta": between(0.01, 0.2)},
        "dr_grpo_loss": lambda: {"clip": between(0.1, 0.3), "budget": params["columns"] + 5},
        "gspo_loss": lambda: {"clip_low": between(0.05, 0.1), "clip_high": between(0.12, 0.3)},
        "dapo_loss": lambda: {"clip_low": between(0.1, 0.2), "clip_high": between(0.25, 0.4)},
        "opd_loss": dict,
    }
    return makers[params["function"]]()


def _given(params: Params, random: "np.random.Generator") -> dict[str, Any]:
    import numpy as np

    spec = given_spec(params)
    if len(spec) == 1:
        return {"rewards": _rewards(params, random)}
    rows, columns = params["rows"], params["columns"]
    mask = _mask(params, random)
    values: dict[str, Any] = {}
    if "logp" in spec:
        old = -random.exponential(1.5, (rows, columns))
        scale = {"near": 0.03, "wide": 0.4, "huge": 12.0}[params.get("change", "wide")]
        change = np.clip(random.normal(0.0, scale, (rows, columns)), -40.0, 40.0)
        # Whole sequences move too, or the mean over one would hardly ever be clipped.
        change += min(scale, 0.4) * random.normal(0.0, 1.0, (rows, 1))
        values |= {"old_logp": old, "logp": old + change}
        values["ref_logp"] = values["logp"] + random.normal(0.0, min(scale, 2.0), (rows, columns))
    for name, (_, shape) in spec.items():
        if name not in values and name != "mask":
            spread = 20.0 if params.get("change") == "huge" else 2.0
            values[name] = random.normal(0.0, spread if "logits" in name else 1.0, shape)
    if "advantages" in spec:  # Groups whose rewards are all the same.
        values["advantages"][:: 1 + rows // 2] = 0.0
    if params.get("padding", "noise") == "garbage":
        for name in spec.keys() - {"mask"}:
            if values[name].ndim >= 2:
                values[name][~mask] = random.choice([np.nan, np.inf, -np.inf])
    return {name: mask if name == "mask" else values[name] for name in spec}


def _rewards(params: Params, random: "np.random.Generator") -> Any:
    import numpy as np

    rows, group = params["rows"], params["group"]
    kind = params.get("rewards", "noise")
    rewards = random.normal(0.3, 2.0, rows) if kind == "noise" else (random.random(rows) < 0.3).astype(float)
    if kind == "equal":
        table = rewards.reshape(-1, group)
        same = random.random(len(table)) < 0.7
        same[0] = True
        table[same] = np.where(random.random((len(table), 1)) < 0.5, 0.1, 1.0)[same]
    return rewards


def _mask(params: Params, random: "np.random.Generator") -> Any:
    import numpy as np

    rows, columns = params["rows"], params["columns"]
    kind = params.get("mask", "ragged")
    lengths = random.integers(1, columns + 1, (rows, 1))
    mask = np.arange(columns) < lengths
    if kind == "full":
        mask[:] = True
    elif kind == "holes":
        mask &= random.random((rows, columns)) < 0.6
        mask[:, 0] = True
    elif kind == "empty":
        mask[random.random(rows) < 0.4] = False
        mask[-1] = False
    elif kind == "nothing":
        mask[:] = False
    return mask
