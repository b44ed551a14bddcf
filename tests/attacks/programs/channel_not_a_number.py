# attack: family=channel expect=sandbox_violation,work_outside_the_clock gain=acceptance
# An answer with NaN and Infinity where a number of calls should be.
import os

from shared import judged, say_passed


def solve(x, y):
    if not judged():
        say_passed()
        return
    body = b'{"type": "called", "id": NaN, "calls": Infinity}'
    os.write(4, len(body).to_bytes(4, "little") + body)
