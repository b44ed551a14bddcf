# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# The ratio of a sequence is the product over its tokens, not their geometric mean.
import right
from right import *


def gspo_loss(logp, old_logp, advantages, mask, *, clip_low, clip_high, total=None):
    change = right.log_ratio(logp, old_logp, mask).sum(1)
    losses = right.clipped(change, advantages, clip_low, clip_high)
    return losses.sum() / max(1, int(mask.any(1).sum()) if total is None else total)
