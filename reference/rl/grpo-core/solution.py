# solmark: verdict=accepted
# solmark: with=grpo.py,shared/right.py
# Log-probabilities in blocks of logits that stay in a cache.
import torch


def solve(h, w, labels, logp):
    """Tokens by tokens, words by words: a running maximum and a running sum of exponentials."""
    if h.is_cuda:  # Launches cost more there than a trip through memory.
        blocks(h, w, labels, logp, tokens=4096, words=16384)
    else:
        blocks(h, w, labels, logp, tokens=256, words=2048)


def blocks(h, w, labels, logp, tokens, words):
    buffer = torch.empty(min(tokens, len(h)) * min(words, len(w)), dtype=torch.float32, device=h.device)
    for first in range(0, len(h), tokens):
        part = h[first : first + tokens].float()
        count = len(part)
        largest = torch.full((count,), -torch.inf, device=h.device)
        total = torch.zeros(count, device=h.device)
        for word in range(0, len(w), words):
            head = w[word : word + words].float()
            logits = torch.mm(part, head.T, out=buffer[: count * len(head)].view(count, len(head)))
            higher = torch.maximum(largest, logits.amax(1))
            total = total * (largest - higher).exp() + logits.sub_(higher[:, None]).exp_().sum(1)
            largest = higher
        label = (part * w[labels[first : first + tokens]].float()).sum(1)
        logp[first : first + tokens] = label - largest - total.log()
