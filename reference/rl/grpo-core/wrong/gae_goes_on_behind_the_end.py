# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# Takes the value that stands in the padding for that of a next state.
import right
import torch
from right import *


def gae(rewards, values, mask, gamma, lam):
    following = torch.cat([values[:, 1:], torch.zeros_like(values[:, :1])], 1).nan_to_num(0.0, 0.0, 0.0)
    steps = torch.where(mask, rewards + gamma * following - values, 0.0)
    advantages, later = torch.zeros_like(steps), torch.zeros_like(steps[:, 0])
    for t in reversed(range(steps.shape[1])):
        later = steps[:, t] + gamma * lam * later
        advantages[:, t] = later
    return torch.where(mask, advantages, 0.0), torch.where(mask, advantages + values, 0.0)
