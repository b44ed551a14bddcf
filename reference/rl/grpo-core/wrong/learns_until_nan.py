# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# A rate that grows with every step, until the policy is NaN.
import right
from right import *


def train_step(policy, optimizer, batch):
    for group in optimizer.param_groups:
        group["lr"] *= 1e3
    right.train_step(policy, optimizer, batch)
