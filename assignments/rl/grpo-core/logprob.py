"""The part `logprob`: log-probabilities of the tokens that were sampled, straight from hidden states.

Parameters of a case: `tokens` (T), `words` (V), `width` (d), `dtype`, and optionally `values`: `spread`
(default; logits deviate by about 2), `peaked` (the label's word is among the likeliest), `far` (logits in the
hundreds: a sum of plain exponentials overflows), `last` (labels at the end of the vocabulary).
"""

from collections.abc import Sequence

from grader import fills
from grader.task import FunctionTask, Params, Slot, Tensor

from .work import cost

_BLOCK = 1 << 22
"""Logits that the oracle holds at once, in float64."""
_DEVICE_BLOCK = 1 << 29
_SCALE = {"spread": 1.0, "peaked": 1.0, "far": 60.0, "last": 1.0}


def tensors(params: Params) -> Sequence[Tensor]:
    """Hidden states h [T, d], head w [V, d], labels [T] come in; logp [T] in float32 goes out."""
    tokens, words, width, dtype = (params[name] for name in ("tokens", "words", "width", "dtype"))
    return (
        Tensor("h", dtype, (tokens, width), "in"),
        Tensor("w", dtype, (words, width), "in"),
        Tensor("labels", "int64", (tokens,), "in"),
        Tensor("logp", "float32", (tokens,), "out"),
    )


def fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:
    """Write h, w and labels of each slot from that slot's seed."""
    kind = params.get("values", "spread")
    words, width = params["words"], params["width"]
    # Logits with a deviation of about 2 at scale 1: the sum of their exponentials hangs on many words.
    size = (2.0 * 3.0 * _SCALE[kind] / width**0.5) ** 0.5
    for slot, seed in zip(slots, seeds, strict=True):
        fills.uniform(slot["h"], seed, "h", -size, size)
        fills.uniform(slot["w"], seed, "w", -size, size)
        low = max(0, words - 3) if kind == "last" else 0
        fills.integers(slot["labels"], seed, "labels", low, words - 1)
        if kind == "peaked":
            _peak(slot, size, width)


def _peak(slot: Slot, size: float, width: int) -> None:
    """Turn each hidden state towards its label's row: the label's logit then stands far above the others."""
    chosen = slot["w"][slot["labels"]].float()
    slot["h"].copy_(chosen * (8.0 / (size * size * width / 3.0)))


def oracle(_params: Params, inputs: Slot) -> Slot:
    """logp in float64: the label's logit minus the logarithm of the sum of all exponentials."""
    import torch

    h, w = inputs["h"], inputs["w"]
    tokens, words = len(h), len(w)
    labels = inputs["labels"].clamp(
        0, words - 1
    )  # Whoever changes inputs to see what matters leaves the range.
    logp = torch.empty(tokens, dtype=torch.float64, device=h.device)
    step = max(1, (_DEVICE_BLOCK if h.is_cuda else _BLOCK) // words)
    head = w.to(torch.float64).T
    for first in range(0, tokens, step):
        block = slice(first, first + step)
        logits = h[block].to(torch.float64) @ head
        label = logits.gather(1, labels[block].unsqueeze(1)).squeeze(1)
        largest = logits.amax(1, keepdim=True)
        total = logits.sub_(largest).exp_().sum(1)
        logp[block] = label - largest.squeeze(1) - total.log()
    return {"logp": logp}


def explain(_params: Params, inputs: Slot, expected: Slot, found: Slot) -> tuple[str, str] | None:
    """Name the mistake when the output is what a common one would give."""
    import torch

    got, right = found["logp"].double(), expected["logp"].double()
    if bool(torch.isinf(got).any()) or bool(torch.isnan(got).any()):
        return (
            "Subtract the largest logit before you take exponentials: exp overflows from 89 on in float32.",
            "取指数之前先减去最大的 logit：float32 中 exp 从 89 起就会溢出。",
        )
    h, w, labels = (inputs[name] for name in ("h", "w", "labels"))
    logits = h.double() @ w.double().T if h.shape[0] * w.shape[0] <= _BLOCK else None
    if logits is None:
        return None
    label = logits.gather(1, labels.unsqueeze(1)).squeeze(1)
    guesses = [
        (
            label,
            "That is the logit of the label, not yet its log-probability.",
            "那只是标签的 logit，还不是对数概率。",
        ),
        (-right, "The sign is wrong: a log-probability is at most 0.", "符号错了：对数概率不大于 0。"),
        (right.exp(), "That is the probability; its logarithm is asked for.", "那是概率；要求的是它的对数。"),
    ]
    for tile in (32, 64, 128, 256, 512, 1024):
        whole = w.shape[0] // tile * tile
        if 0 < whole < w.shape[0]:
            rest = label - logits[:, :whole].logsumexp(1)
            text = (
                f"The last {w.shape[0] - whole} words, behind the last whole tile of {tile}, are left out.",
                f"漏掉了最后一个完整的 {tile} 大小的块之后的 {w.shape[0] - whole} 个词。",
            )
            guesses.append((rest, *text))
    for guess, en, zh in guesses:
        if bool(torch.allclose(got, guess, 1e-3, 1e-3)) and not bool(
            torch.allclose(right, guess, 1e-3, 1e-3)
        ):
            return en, zh
    if bool(torch.allclose(got, right, 0.05, 0.05)):
        return (
            "It is near, but not near enough: keep logits in float32, never round them to a shorter type.",
            "很接近，但不够接近：logit 必须保留为 float32，绝不能舍入到更短的类型。",
        )
    return None


TASK = FunctionTask(tensors=tensors, fill=fill, oracle=oracle, cost=cost, audit="sampled", explain=explain)
