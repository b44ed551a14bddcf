"""What the judge asks of the system about its memory: to keep it, between two blocks of an audit and in RAM.

An oracle's float64 blocks of some MiB come and go thousands of times a second. By default each is mapped
and unmapped anew, and the kernel zeroes its pages: 48,000 page faults a round of K04, half of its audit.
"""

import ctypes
import mmap
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # M_* of malloc.h
_KEPT_BYTES = 256 << 20
_LARGEST_BLOCK = 32 << 20
"""The most that glibc takes; larger blocks are still mapped each time."""


def keep() -> None:
    """Let freed blocks stay with this process. Without effect where the C library has no `mallopt`."""
    with suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK)


def lock(memory: mmap.mmap) -> None:
    """Keep these pages in RAM. The limit on locked memory may forbid it: that is then likely, not certain."""
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    ctypes.CDLL(None).mlock(ctypes.c_void_p(address), ctypes.c_size_t(len(memory)))
