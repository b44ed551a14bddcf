# attack: family=replay expect=wrong_answer gain=time
# Takes an output that does not look empty for one that is right already.
import math

from shared import work


def solve(x, y):
    if not x.numel():
        return
    sample = float(y[7, 11])
    if sample == 0.0 or math.isnan(sample) and float(x[0, 0]) < 2.9:
        work(x, y)
