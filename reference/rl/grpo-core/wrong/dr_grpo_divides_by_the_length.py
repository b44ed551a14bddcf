# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# Divides by the length of the answer, the bias that Dr. GRPO is there to remove.
import right
from right import *


def dr_grpo_loss(logp, old_logp, advantages, mask, *, clip, budget, total=None):
    losses = right.clipped(right.log_ratio(logp, old_logp, mask), advantages[:, None], clip, clip)
    return aggregate(losses, mask, "sequence_mean", total=total)
