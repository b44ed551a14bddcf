# attack: family=channel expect=sandbox_violation,work_outside_the_clock gain=acceptance
# An answer that is not JSON, nor UTF-8.
import os

from shared import judged, say_passed


def solve(x, y):
    if not judged():
        say_passed()
        return
    body = b"\xff\xfe\x00{passed}"
    os.write(4, len(body).to_bytes(4, "little") + body)
