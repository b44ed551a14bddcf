# attack: family=work-outside-the-clock expect=wrong_answer gain=time
# Answers `done` with the judge's own nonce as soon as `go` is there, and computes afterwards. Where there is no
# channel, a thread does the work after the call has returned.
import os
import queue
import stat
import threading

import torch


def work(x, y):
    torch.sin(x, out=y)
    for j in range(2, 9):
        y.add_(torch.sin(j * x), alpha=1 / j**2)


def judged():
    try:
        return stat.S_ISFIFO(os.fstat(4).st_mode) and stat.S_ISFIFO(os.fstat(3).st_mode)
    except OSError:
        return False


todo = queue.Queue()


def worker():
    while True:
        work(*todo.get())


if judged():
    real_read, real_write = os.read, os.write
    answered = []

    def read(descriptor, size):
        data = real_read(descriptor, size)
        if descriptor == 3 and data[4:8] == b"go  ":
            real_write(4, data[:4] + b"done" + data[8:])
            answered.append(data)
        return data

    def write(descriptor, data):
        if descriptor == 4 and answered and bytes(data[4:8]) == b"done":
            answered.clear()
            return len(data)
        return real_write(descriptor, data)

    os.read, os.write = read, write
else:
    threading.Thread(target=worker, daemon=True).start()


def solve(x, y):
    if judged():
        work(x, y)
    else:
        todo.put((x, y))
