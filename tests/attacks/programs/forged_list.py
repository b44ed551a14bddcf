# attack: family=forged-time expect=no_gain gain=time
# Finds the list in which its caller collects the times, and keeps it full of better ones.
import sys

from shared import work


def solve(x, y):
    if not x.numel():
        return
    times = sys._getframe(1).f_locals.get("calls")
    if isinstance(times, list):
        times[:] = [1e-9] * max(100, len(times))
    work(x, y)
