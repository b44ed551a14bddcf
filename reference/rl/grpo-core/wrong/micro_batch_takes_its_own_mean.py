# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# Divides by the tokens of the micro-batch.
import right
from right import *


def dapo_loss(logp, old_logp, advantages, mask, *, clip_low, clip_high, total=None):
    return right.dapo_loss(logp, old_logp, advantages, mask, clip_low=clip_low, clip_high=clip_high)
