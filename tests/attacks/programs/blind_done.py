# attack: family=forged-result expect=sandbox_violation,work_outside_the_clock gain=acceptance
# Queues an answer before it was asked: `done` with a guessed nonce behind the harness's own message. Where there
# is no channel, the success line comes early instead.
import os
import stat
import sys


def judged():
    try:
        return stat.S_ISFIFO(os.fstat(4).st_mode) and stat.S_ISFIFO(os.fstat(3).st_mode)
    except OSError:
        return False


if judged():
    real_write = os.write

    def write(descriptor, data):
        if descriptor == 4 and b'"armed"' in bytes(data):
            return real_write(4, bytes(data) + b"\x14\x00\x00\x00done" + bytes(16)) - 24
        return real_write(descriptor, data)

    os.write = write
else:
    print(f'RESULT {sys.argv[-1]} {{"passed": true, "seconds": 1e-9}}', flush=True)


def solve(x, y):
    pass
