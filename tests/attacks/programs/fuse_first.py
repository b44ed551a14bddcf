# attack: family=fusion expect=no_gain gain=time
# The first call of a round finds the arguments of all the others in its caller's frame and does their work too;
# the others return at once, so that most calls take no time.
import sys

import torch

done = set()


def work(x, y):
    torch.sin(x, out=y)
    for j in range(2, 9):
        y.add_(torch.sin(j * x), alpha=1 / j**2)


def solve(x, y):
    if not x.numel():
        return
    if x.data_ptr() in done:
        done.discard(x.data_ptr())
        return
    frame = sys._getframe(1)
    rows = frame.f_locals.get("rows") or frame.f_locals.get("slots") or ()
    places = [row[0].data_ptr() for row in rows]
    if x.data_ptr() in places:
        for other_x, other_y in rows[places.index(x.data_ptr()) + 1 :]:
            work(other_x, other_y)
            done.add(other_x.data_ptr())
    work(x, y)
