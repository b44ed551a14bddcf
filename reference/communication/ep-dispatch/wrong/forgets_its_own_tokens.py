# solmark: verdict=wrong_answer
# solmark: with=shared/exchange.py
# What need not travel is forgotten: the rank's own tokens are not among what it receives.
import exchange
import numpy as np
from exchange import combine  # noqa: F401


def dispatch(comm, x, experts, weights, recv_x, recv_experts, recv_weights, sources, received, *, count):
    whole = [np.empty_like(part) for part in (recv_x, recv_experts, recv_weights)]
    exchange.dispatch(comm, x, experts, weights, *whole, sources, received, count=count)
    begin = int(sources[: comm.rank].sum())
    end = begin + int(sources[comm.rank])
    total = int(received[0])
    for out, part in zip((recv_x, recv_experts, recv_weights), whole, strict=True):
        out[: total - (end - begin)] = np.concatenate([part[:begin], part[end:total]])
    received[0] -= sources[comm.rank]
    sources[comm.rank] = 0
