# attack: family=forged-time expect=no_gain gain=time
# Every statistic that a grader may take of its times is a nanosecond.
import statistics

from shared import work

for name in ("median", "mean", "fmean"):
    setattr(statistics, name, lambda values: (list(values), 1e-9)[1])


def solve(x, y):
    if x.numel():
        work(x, y)
