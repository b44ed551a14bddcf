# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# Takes the mean over the batch instead of the group.
import right
from right import *


def group_advantages(rewards, group, normalize=True):
    return right.group_advantages(rewards, len(rewards), normalize)
