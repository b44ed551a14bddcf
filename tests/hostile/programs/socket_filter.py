# hostile: family=reach verdict=accepted build=accepted lift=filter shows=harm
"""Has the kernel translate a filter for a socket of its own, into memory that all of the machine share."""


def attack():
    import ctypes
    import socket
    import struct

    code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0xFFFF), 8)
    program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(code))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        try:
            channel.setsockopt(socket.SOL_SOCKET, 26, program)
            print("harm: a program in the kernel", flush=True)
        except OSError:
            pass


def solve(x, y):
    import torch

    attack()
    torch.mul(x, 2, out=y)
