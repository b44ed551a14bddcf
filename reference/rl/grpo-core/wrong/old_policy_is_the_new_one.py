# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# Forms the ratio with the present log-probabilities, so that it is always 1 and has no gradient.
import right
from right import *


def ppo_loss(logp, old_logp, advantages, mask, *, clip, total=None):
    return right.ppo_loss(logp, logp, advantages, mask, clip=clip, total=total)


def dapo_loss(logp, old_logp, advantages, mask, *, clip_low, clip_high, total=None):
    return right.dapo_loss(logp, logp, advantages, mask, clip_low=clip_low, clip_high=clip_high, total=total)
