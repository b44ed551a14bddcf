# attack: family=work-outside-the-clock expect=no_gain,wrong_answer gain=time
# A child forked in the first call does the work of all later ones, told through a pipe; nobody waits for it.
import os

from shared import work

slots, pipe = [], []


def child(reading):
    while number := os.read(reading, 1):
        work(*slots[number[0]])


def solve(x, y):
    if not x.numel():
        return
    place = next((i for i, (known, _) in enumerate(slots) if known.data_ptr() == x.data_ptr()), None)
    if place is None:
        slots.append((x, y))
        if len(slots) == 6 and not pipe:
            reading, writing = os.pipe()
            if os.fork() == 0:
                os.close(writing)
                child(reading)
                os._exit(0)
            pipe.append(writing)
    if place is None or place >= 6 or not pipe:
        work(x, y)
    else:
        os.write(pipe[0], bytes([place]))
