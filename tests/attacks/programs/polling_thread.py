# attack: family=work-outside-the-clock expect=no_gain,wrong_answer gain=time
# A thread watches the inputs of all slots it has seen and computes as soon as they change, before `go`.
import threading
import time

import torch

seen, ready = {}, {}


def work(x, y):
    torch.sin(x, out=y)
    for j in range(2, 9):
        y.add_(torch.sin(j * x), alpha=1 / j**2)


def watch():
    while True:
        for place, (x, y) in list(seen.items()):
            mark = (float(x[0, 0]), float(x[-1, -1]), float(x[0, -1]))
            # Not while the fill is going on: wait until the values have settled.
            if ready.get(place) != mark:
                time.sleep(0.0005)
                work(x, y)
                ready[place] = mark
        time.sleep(0.0005)


threading.Thread(target=watch, daemon=True).start()


def solve(x, y):
    if not x.numel():
        return
    place = x.data_ptr()
    mark = (float(x[0, 0]), float(x[-1, -1]), float(x[0, -1]))
    if place not in seen or ready.get(place) != mark or float(y[-1, -1]) != float(y[-1, -1]):
        work(x, y)
        ready[place] = mark
    seen[place] = (x, y)
