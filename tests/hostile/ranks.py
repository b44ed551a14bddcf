"""The hostile programs from a rank of several: the last rank attacks in the middle of a collective's call.

Every rank then sends its values to the next one, so the others wait for the one that attacks. A Python program
is run as it is. One in C++ is compiled and called by its rank, as anybody may who has a compiler around him.
"""

from typing import Any

from grader.judge import compilers

RANKS = 3

TOML = """\
id = "communication/shift"
topics = ["2.5"]
weight = 1.0
title = { en = "Shift", zh = "移位" }

[[parts]]
name = "shift"
kind = "collective"
entry = "shift"
languages = ["python"]

[[targets]]
hardware = "cpu"
primary = true

[[cases]]
id = "tiny"
part = "shift"
role = "test"
params = {}
tolerance = { y = { worst_row = 1e-7, mean_row = 1e-7, worst_element = 1e-7 } }

[points]
correctness = 1.0
performance = 0.0
"""
TASK = f'''\
"""y is the x of the rank before."""

from grader import fills, network
from grader.task import CollectiveTask, Cost, Tensor

SHAPE = (3, 5)


def fill(params, rank, slots, seeds):
    for slot, seed in zip(slots, seeds):
        fills.uniform(slot["x"], seed, f"x of {{rank}}", -1.0, 1.0)


PARTS = {{
    "shift": CollectiveTask(
        ranks=lambda params: {RANKS},
        tensors=lambda params, rank: (
            Tensor("x", "float32", SHAPE, "in"),
            Tensor("y", "float32", SHAPE, "out"),
        ),
        fill=fill,
        oracle=lambda params, inputs: [{{"y": inputs[rank - 1]["x"]}} for rank in range(len(inputs))],
        cost=lambda params: Cost(link_bytes=60.0),
        priced=True,
        network=lambda params: network.switch({RANKS}, 1_000_000, 1_000),
        bound=lambda params, inputs: (1060.0, "bandwidth"),
    )
}}
'''
_SHIFT = """

def shift(comm, x, y):
    if comm.rank == comm.size - 1:
        {attack}
    comm.send((comm.rank + 1) % comm.size, x)
    comm.recv((comm.rank - 1) % comm.size, y)
"""
HONEST = _SHIFT.format(attack="pass").encode()
_NATIVE = """
import ctypes
import os
import subprocess
import sys

SOURCE = {source!r}


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("name", ctypes.c_char_p),
        *((name, ctypes.c_int32) for name in ("dimensions", "dtype", "role", "reserved")),
    ]


def described(name, array, role):
    pair = ctypes.c_int64 * 2
    strides = pair(*(stride // array.itemsize for stride in array.strides))
    return Tensor(array.ctypes.data, pair(*array.shape), strides, name, 2, 1, role, 0)


def attack(x, y):
    with open("solution.cpp", "w") as file:
        file.write(SOURCE)
    ours = os.path.dirname(sys.modules["__main__"].__file__)
    command = ["g++", *{flags!r}, f"-I{{ours}}", "-I.", "solution.cpp", "-o", "solution.so"]
    subprocess.run(command, check=True)
    tensors = (Tensor * 2)(described(b"x", x, 0), described(b"y", y, 1))
    ctypes.CDLL("./solution.so").solve(tensors, 2, None, 0, None)
"""


def submission(program: Any, source: bytes) -> bytes:
    """The file of a submission whose last rank is the program; `source` is what `Host.source` gives."""
    if not program.native:
        return source + _SHIFT.format(attack="attack()").encode()
    flags = compilers.flags("solution.cpp")
    native = _NATIVE.format(source=source.decode(), flags=flags)
    return (native + _SHIFT.format(attack="attack(x, y)")).encode()
