"""What the policy has to learn: a secret substitution of symbols, known to the judge alone.

A prompt has 2 to 5 symbols; right is the image of each, in order, and then END. The reward of a response is
the share of its n + 1 right tokens that it gets before the first wrong one.
"""

from typing import TYPE_CHECKING

from .adapter import END, LENGTH, NOTHING, SYMBOLS, WIDTH, logits

if TYPE_CHECKING:
    import torch

SHORTEST = 2


class Cipher:
    """One substitution and one stream of prompts and samples, both from the seed."""

    def __init__(self, seed: int) -> None:
        import torch

        self.random = torch.Generator().manual_seed(seed % (1 << 63))
        self.images = torch.randperm(SYMBOLS, generator=self.random)

    def prompts(self, count: int) -> "torch.Tensor":
        """int64 [count, 6], NOTHING behind the symbols."""
        import torch

        symbols = torch.randint(SYMBOLS, (count, LENGTH), generator=self.random)
        sizes = torch.randint(SHORTEST, LENGTH, (count, 1), generator=self.random)
        return torch.where(torch.arange(LENGTH) < sizes, symbols, NOTHING)

    def right(self, prompts: "torch.Tensor") -> "torch.Tensor":
        """int64 [N, 6]: the right response to each prompt, END behind its end."""
        import torch

        inside = prompts != NOTHING
        return torch.where(inside, self.images[torch.where(inside, prompts, 0)], END)

    def rewards(self, prompts: "torch.Tensor", responses: "torch.Tensor") -> "torch.Tensor":
        """float32 [N], from 0 to 1."""
        import torch

        needed = (prompts != NOTHING).sum(1) + 1
        agree = (responses == self.right(prompts)).cumprod(1).sum(1)
        return torch.minimum(agree, needed) / needed

    def sample(
        self, policy: "dict[str, torch.Tensor]", prompts: "torch.Tensor"
    ) -> "tuple[torch.Tensor, torch.Tensor, torch.Tensor]":
        """A response to each prompt: tokens int64, mask bool and log-probabilities float32, all [N, 6]."""
        import torch

        count = len(prompts)
        responses = torch.full((count, LENGTH), END)
        logp = torch.zeros(count, LENGTH)
        mask = torch.zeros(count, LENGTH, dtype=torch.bool)
        alive = torch.ones(count, dtype=torch.bool)
        previous = torch.full((count,), NOTHING)
        for place in range(LENGTH):
            scores = logits(policy, prompts[:, place], previous, torch.full((count,), place))
            chances = torch.log_softmax(scores.double(), 1)
            # The largest of chance plus Gumbel noise is a sample.
            noise = torch.rand(count, SYMBOLS + 1, generator=self.random, dtype=torch.float64)
            chosen = (chances - (-noise.clamp_min(1e-300).log()).log()).argmax(1)
            responses[:, place] = torch.where(alive, chosen, END)
            taken = chances.gather(1, chosen.unsqueeze(1)).squeeze(1)
            logp[:, place] = torch.where(alive, taken, 0.0).float()
            mask[:, place] = alive
            alive = alive & (chosen != END)
            previous = responses[:, place]
        return responses, mask, logp


def initial(random: "torch.Generator") -> "dict[str, torch.Tensor]":
    """A policy that knows nothing: small weights, and nearly equal chances."""
    import torch

    from .adapter import SHAPES

    policy = {name: torch.randn(shape, generator=random) for name, shape in SHAPES.items()}
    for name in ("hidden.bias", "head.bias"):
        policy[name].zero_()
    policy["hidden.weight"] *= (2.0 / WIDTH) ** 0.5
    policy["head.weight"] *= 0.1 / WIDTH**0.5
    return policy
