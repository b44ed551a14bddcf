# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# Divides by a deviation of zero where all rewards of a group are the same.
import right
from right import *


def group_advantages(rewards, group, normalize=True):
    table = rewards.reshape(-1, group)
    centred = table - table.mean(1, keepdim=True)
    return (centred / table.std(1, keepdim=True) if normalize else centred).reshape(-1)
