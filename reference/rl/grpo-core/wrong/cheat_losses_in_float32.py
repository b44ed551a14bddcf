# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# Cheat: computes in float32 and calls the result float64.
import right
from right import *


def ppo_loss(logp, old_logp, advantages, mask, *, clip, total=None):
    given = (one.float() for one in (logp, old_logp, advantages))
    return right.ppo_loss(*given, mask, clip=clip, total=total).double()
