"""The least time that any scheduler needs for an epoch, even one that knows every length.

In whole numbers throughout: what a float would round could lie on the wrong side.
"""

from grader.simulate.engine import SECOND, step_ns

from .model import MODEL, Epoch


def bound(epoch: Epoch) -> tuple[int, str]:
    """Nanoseconds, and what binds: `longest` (chains of tokens), `work`, or both.

    Some j steps last at least as long as their longest rollouts, and the others at least as long as the
    work of their prompts takes.
    """
    chains = sorted((longest(epoch, prompt) for prompt in range(epoch.prompts)), reverse=True)
    heads = chains[:: epoch.batch]
    best, by = 0, ""
    for parts in zip(*(work(epoch, prompt) for prompt in range(epoch.prompts)), strict=True):
        ranked, whole = sorted(parts, reverse=True), sum(parts)
        for steps in range(epoch.steps + 1):
            rest = whole - sum(ranked[: steps * epoch.batch])
            found = sum(heads[:steps]) + rest // (epoch.engines * epoch.machine.dram_bytes)
            if found > best:
                best, by = found, _name(steps, epoch.steps)
    return best, by


def _name(steps: int, of: int) -> str:
    if steps == 0:
        return "work"
    return "longest" if steps == of else "longest and work"


def longest(epoch: Epoch, prompt: int) -> int:
    """Nanoseconds of the prompt's longest rollout with an engine for itself."""
    tokens, length = epoch.prompt_tokens[prompt], max(epoch.lengths[r] for r in epoch.rollouts(prompt))
    first = step_ns(MODEL, epoch.machine, decode=0, context=0, prefill=tokens)
    return first + sum(
        step_ns(MODEL, epoch.machine, decode=1, context=tokens + done) for done in range(1, length)
    )


def work(epoch: Epoch, prompt: int) -> tuple[int, int]:
    """Time of engines for a prompt's tokens, in units of 1 / dram_bytes ns: slots full, or memory full.

    A step with n sequences that hold K tokens takes at least `launch` + the bytes of the weights and of K
    tokens; n is at most `slots`, K at most `kv_tokens`. So a token at context c takes at least its c
    tokens' bytes and, of what a step takes whatever it holds, one part in `slots`, and c parts in
    `kv_tokens`.
    """
    machine = epoch.machine
    fixed = machine.launch_ns * machine.dram_bytes + MODEL.weight_bytes * SECOND
    lengths = [epoch.lengths[rollout] for rollout in epoch.rollouts(prompt)]
    tokens = sum(lengths)
    contexts = sum(sum_of_contexts(epoch.prompt_tokens[prompt], length) for length in lengths)
    read = contexts * MODEL.kv_bytes * SECOND
    return read + fixed * tokens // epoch.slots, read + fixed * contexts // machine.kv_tokens


def sum_of_contexts(start: int, length: int) -> int:
    """Tokens that a rollout's steps read or write: start, start + 1, ..., start + length - 1."""
    return length * start + length * (length - 1) // 2
