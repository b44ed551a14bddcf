# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# Takes the mean over all tokens, so that long answers weigh more.
import right
from right import *


def grpo_loss(logp, old_logp, ref_logp, advantages, mask, *, clip, beta, total=None):
    losses = right.clipped(right.log_ratio(logp, old_logp, mask), advantages[:, None], clip, clip)
    away = right.log_ratio(ref_logp, logp, mask)
    return aggregate(losses + beta * (away.exp() - away - 1), mask, "token_mean")
