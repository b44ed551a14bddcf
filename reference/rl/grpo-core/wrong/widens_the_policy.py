# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# Comes back with a policy of another shape.
import right
import torch
from right import *


def train_step(policy, optimizer, batch):
    policy.tensors["head.bias"] = torch.zeros(12)
