"""Runs beside the submission: losses with their gradients, a policy that learns from the judge's rollouts.

The policy is the judge's too: `logits` here is what it samples from.
"""

from dataclasses import dataclass
from typing import Any

import torch

SYMBOLS = 8
"""Prompt symbols 0 to 7; a response holds their images, then END."""
END = SYMBOLS
NOTHING = SYMBOLS + 1
"""What a place behind the prompt holds, and what comes before the first token of a response."""
LENGTH = 6
"""Tokens of the longest response, END included; a prompt has at most one symbol less."""
WIDTH = 32

SHAPES: dict[str, tuple[int, ...]] = {
    "embed.symbol": (SYMBOLS + 2, WIDTH),
    "embed.previous": (SYMBOLS + 2, WIDTH),
    "embed.place": (LENGTH, WIDTH),
    "hidden.weight": (WIDTH, WIDTH),
    "hidden.bias": (WIDTH,),
    "head.weight": (SYMBOLS + 1, WIDTH),
    "head.bias": (SYMBOLS + 1,),
}
"""The parameters of a policy, all float32."""


def logits(parameters: Any, symbols: Any, previous: Any, place: Any) -> Any:
    """Logits [..., 9] over the next token: what it should be the image of, the token before it, its place.

    All three are int64 [...]; `symbols` holds NOTHING behind the prompt, `previous` before the first token.
    """
    embedded = (
        parameters["embed.symbol"][symbols]
        + parameters["embed.previous"][previous]
        + parameters["embed.place"][place]
    )
    hidden = torch.relu(embedded @ parameters["hidden.weight"].T + parameters["hidden.bias"])
    return hidden @ parameters["head.weight"].T + parameters["head.bias"]


class Policy:
    """A small network: a hidden layer over the embeddings of symbol, previous token and place."""

    def __init__(self, tensors: dict[str, Any], most: int) -> None:
        self.tensors = {name: value.clone().requires_grad_() for name, value in tensors.items()}
        self._most = most

    def parameters(self) -> list[Any]:
        """For an optimizer."""
        return list(self.tensors.values())

    def logp(self, prompts: Any, responses: Any) -> Any:
        """Log-probability [N, 6] of each token of the responses, with a gradient.

        prompts, responses: int64 [N, 6]. Behind a response's END it holds the log-probability of whatever
        stands there. Raises ValueError for more sequences than fit at a time.
        """
        if len(prompts) > self._most:
            raise ValueError(
                f"{len(prompts)} sequences at once; memory holds {self._most}: use micro-batches"
            )
        first = torch.full_like(responses[:, :1], NOTHING)
        previous = torch.cat([first, responses[:, :-1]], 1)
        place = torch.arange(LENGTH).expand(len(prompts), LENGTH)
        scores = torch.log_softmax(logits(self.tensors, prompts, previous, place), -1)
        return scores.gather(2, responses.unsqueeze(2)).squeeze(2)


@dataclass(frozen=True)
class Batch:
    """Rollouts of one step. The `group` responses to a prompt stand side by side."""

    prompts: Any
    """int64 [N, 6]; NOTHING behind the symbols."""
    responses: Any
    """int64 [N, 6]; END behind the end."""
    mask: Any
    """bool [N, 6]: tokens that the policy chose, END included."""
    old_logp: Any
    """float32 [N, 6]: their log-probabilities when they were sampled."""
    rewards: Any
    """float32 [N], computed by the judge."""
    group: int
    micro_batch: int
    """Most sequences whose log-probabilities can be taken at once."""
    passes: int
    """Times to go over the batch, with one step of the optimizer each."""


_state: dict[str, Any] = {}


def answer(module: Any, method: str, message: Any, regions: Any) -> Any:
    """The reply to one message; values cross in the regions."""
    if method == "train_step":
        return _step(module, message, regions)
    given = regions.read_tensors("given")
    first, last = message.get("rows", (0, None))
    arguments = [given[name][first:last].clone() for name in message["arguments"]]
    if message["gradient"] is None:
        result = getattr(module, method)(*arguments, **message["keywords"])
        results = result if isinstance(result, tuple) else (result,)
        return _written(message["answers"], results, regions)
    leaf = arguments[message["gradient"]].requires_grad_()
    loss = getattr(module, method)(*arguments, **message["keywords"])
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        return {"returned": _shown(loss)}
    gradient = None
    if loss.requires_grad:
        (gradient,) = torch.autograd.grad(loss, leaf, allow_unused=True)
    if gradient is None:
        gradient = torch.zeros_like(leaf)
    return _written(message["answers"], (loss.detach().reshape(1), gradient), regions)


def _written(wanted: Any, results: Any, regions: Any) -> Any:
    """Nothing, once the results stand in their region; what came instead where they do not fit."""
    if len(results) != len(wanted):
        return {"returned": ", ".join(map(_shown, results)) or "nothing"}
    for (_, dtype, shape), result in zip(wanted, results, strict=True):
        fits = isinstance(result, torch.Tensor) and str(result.dtype) == f"torch.{dtype}"
        if not fits or list(result.shape) != shape:
            return {"returned": ", ".join(map(_shown, results))}
    regions.write_tensors("answer", {one[0]: value for one, value in zip(wanted, results, strict=True)})
    return None


def _shown(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return f"a {type(value).__name__}"


def _step(module: Any, message: Any, regions: Any) -> None:
    """One step of learning; the optimizer and the policy last from the first step to the last."""
    if message["first"]:
        torch.manual_seed(0)
        torch.set_num_threads(1)  # Tensors are so small here that more of them are slower.
        policy = Policy(regions.read_tensors("policy"), message["micro_batch"])
        _state["policy"] = policy
        _state["optimizer"] = torch.optim.Adam(policy.parameters(), lr=message["rate"])
    given = {name: value.clone() for name, value in regions.read_tensors("rollouts").items()}
    batch = Batch(
        **given, group=message["group"], micro_batch=message["micro_batch"], passes=message["passes"]
    )
    policy = _state["policy"]
    module.train_step(policy, _state["optimizer"], batch)
    regions.write_tensors("learned", {name: value.detach() for name, value in policy.tensors.items()})
