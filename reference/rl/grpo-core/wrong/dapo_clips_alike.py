# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# Clips upwards by as much as downwards.
import right
from right import *


def dapo_loss(logp, old_logp, advantages, mask, *, clip_low, clip_high, total=None):
    return right.dapo_loss(
        logp, old_logp, advantages, mask, clip_low=clip_low, clip_high=clip_low, total=total
    )
