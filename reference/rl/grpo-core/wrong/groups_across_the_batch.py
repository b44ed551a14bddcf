# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# Forms groups of answers to different prompts when it learns.
import right
from right import *


def advantages_across(rewards, group):
    table = rewards.reshape(group, -1)
    return ((table - table.mean(0)) / (table.std(0) + 1e-6)).flip(0).reshape(-1)


def train_step(policy, optimizer, batch):
    right.group_advantages = advantages_across
    right.train_step(policy, optimizer, batch)
