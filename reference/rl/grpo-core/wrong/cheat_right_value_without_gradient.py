# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# Cheat: gives the right value, but nothing that could be learned from.
import right
from right import *


def grpo_loss(*given, **more):
    return right.grpo_loss(*given, **more).detach()
