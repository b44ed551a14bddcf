# solmark: verdict=wrong_answer
# solmark: name=grpo.py
# solmark: with=solution.py,shared/right.py
# Always takes the clipped ratio, so that a bad token far away pulls no more.
import right
from right import *


def clipped(log_ratio, advantages, low, high):
    return -log_ratio.exp().clamp(1 - low, 1 + high) * advantages


right.clipped = clipped
