"""What one step of an inference engine takes: the model that all serving and rollout simulators share.

A step runs the layers once for all sequences of a batch: each one that decodes adds a token, prompts add
many. It reads the weights once and the keys and values of every sequence that decodes, writes those of
prompts, and multiplies for every token:

    t = launch + max((2 P tokens + attention) / (FLOP/s), (bytes of P + keys and values) / bandwidth)

in whole nanoseconds, rounded up. Source: the roofline of a transformer's forward pass; launch is what the
launches cost whatever the batch.
"""

from dataclasses import dataclass

SECOND = 10**9
"""Nanoseconds."""


@dataclass(frozen=True)
class Model:
    """A decoder's sizes."""

    parameters: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    item_bytes: int = 2
    """Of weights, keys and values."""

    @property
    def weight_bytes(self) -> int:
        """Bytes that every step reads."""
        return self.parameters * self.item_bytes

    @property
    def kv_bytes(self) -> int:
        """Bytes of the keys and values of one token."""
        return 2 * self.layers * self.kv_heads * self.head_size * self.item_bytes

    @property
    def token_operations(self) -> int:
        """Floating-point operations that the weights take for one token."""
        return 2 * self.parameters

    @property
    def context_operations(self) -> int:
        """Operations that attention takes for one token and one token before it."""
        return 4 * self.layers * self.heads * self.head_size


@dataclass(frozen=True)
class Machine:
    """What one engine runs on. Rates a second."""

    operations: int
    dram_bytes: int
    launch_ns: int
    kv_tokens: int
    """Tokens whose keys and values fit beside the weights."""
    link_bytes: int
    """To another engine."""


def step_ns(model: Model, machine: Machine, *, decode: int, context: int, prefill: int = 0) -> int:
    """Nanoseconds of a step: `decode` sequences that hold `context` tokens together, `prefill` prompt tokens.

    0 where there is nothing to do. Attention within the prompts is left out: it is small beside the weights'
    work for prompts of up to some thousand tokens.
    """
    tokens = decode + prefill
    if not tokens:
        return 0
    operations = tokens * model.token_operations + context * model.context_operations
    moved = model.weight_bytes + (context + prefill) * model.kv_bytes
    return machine.launch_ns + max(_ns(operations, machine.operations), _ns(moved, machine.dram_bytes))


def move_ns(model: Model, machine: Machine, tokens: int) -> int:
    """Nanoseconds until the keys and values of so many tokens have reached another engine."""
    return machine.launch_ns + _ns(tokens * model.kv_bytes, machine.link_bytes)


def _ns(amount: int, rate: int) -> int:
    return -(-amount * SECOND // rate)
