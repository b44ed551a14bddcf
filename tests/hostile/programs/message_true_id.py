# hostile: family=protocol verdict=wrong_answer build=build_error rank=sandbox_violation lift=parser shows=naive:called
"""Answers the judge's question itself, as the harness would, and does nothing."""


def attack():
    import json
    import os
    import sys
    import time

    identity, frame = "0" * 32, sys._getframe()
    while frame is not None:
        identity = frame.f_locals.get("identity", identity)
        frame = frame.f_back
    body = json.dumps({"type": "called", "id": identity}).encode()
    os.write(4, len(body).to_bytes(4, "little") + body)
    time.sleep(5)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
