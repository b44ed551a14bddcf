# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# Takes the KL penalty of the reference from the policy.
import right
from right import *


def grpo_loss(logp, old_logp, ref_logp, advantages, mask, *, clip, beta, total=None):
    losses = right.clipped(right.log_ratio(logp, old_logp, mask), advantages[:, None], clip, clip)
    away = right.log_ratio(logp, ref_logp, mask)
    return aggregate(losses + beta * (away.exp() - away - 1), mask, "sequence_mean", total=total)
