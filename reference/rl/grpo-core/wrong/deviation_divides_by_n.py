# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# The deviation of the group as of a whole population.
import right
from right import *


def group_advantages(rewards, group, normalize=True):
    table = rewards.reshape(-1, group)
    centred = table - table.mean(1, keepdim=True)
    return (centred / (table.std(1, correction=0, keepdim=True) + 1e-6) if normalize else centred).reshape(-1)
