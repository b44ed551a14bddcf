# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# Cheat: a policy made up beforehand, for the substitution that changes nothing, whatever the rewards.
import right
import torch
from right import *


def train_step(policy, optimizer, batch):
    with torch.no_grad():
        for values in policy.tensors.values():
            values.zero_()
        for symbol in range(9):
            policy.tensors["embed.symbol"][symbol, symbol] = 9.0
            policy.tensors["hidden.weight"][symbol, symbol] = 1.0
            policy.tensors["head.weight"][symbol, symbol] = 1.0
        policy.tensors["embed.symbol"][9, 8] = 9.0
