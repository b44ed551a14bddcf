# attack: family=work-outside-the-clock expect=wrong_answer gain=time
# Returns at once; a thread does the work while the grader is busy checking.
import queue
import threading

import torch

todo = queue.Queue()


def worker():
    while True:
        x, y = todo.get()
        torch.sin(x, out=y)
        for j in range(2, 9):
            y.add_(torch.sin(j * x), alpha=1 / j**2)


threading.Thread(target=worker, daemon=True).start()


def solve(x, y):
    if x.numel():
        todo.put((x, y))
