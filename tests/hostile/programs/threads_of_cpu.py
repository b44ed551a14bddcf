# hostile: family=time verdict=time_limit build=time_limit lift=cpu shows=harm
"""Computes in many threads at once: twice the CPU time in half the wall time."""


def attack():
    import hashlib
    import threading
    import time

    begin = time.process_time()

    def work():
        while time.process_time() < begin + int("@CPU@"):
            hashlib.pbkdf2_hmac("sha256", b"x", b"y", 100_000)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("harm: @CPU@ s of CPU time", flush=True)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
