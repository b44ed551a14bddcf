# attack: family=forged-time expect=no_gain gain=time
# Slow in a round's first call and in empty ones, as a slope between long and short rounds or a warm-up would like.
import time

from shared import work

last = [0.0]


def solve(x, y):
    now = time.monotonic()
    if not x.numel() or now - last[0] > 0.01:
        time.sleep(0.005)
    if x.numel():
        work(x, y)
    last[0] = time.monotonic()
