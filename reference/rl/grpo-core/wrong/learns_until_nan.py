# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# A schedule of the rate that divides zero by zero: the policy is NaN.
import right
import torch
from right import *


def train_step(policy, optimizer, batch):
    left, all_steps = torch.zeros(2)
    for group in optimizer.param_groups:
        group["lr"] *= float(left / all_steps)
    right.train_step(policy, optimizer, batch)
