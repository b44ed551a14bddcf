"""The link between the calls of a linked case: the judge's kernels, queued between calls by this harness.

Each call's inputs depend on every byte of the outputs of the call before, so that calls cannot overlap. The
judge makes the whole chain again: who leaves a link out, or forges it, has worked on wrong inputs.
"""

import base64
import ctypes
from typing import Any

_BLOCKS = 1056
_THREADS = 256
_EACH = 4
"""Words of eight bytes that a thread takes, about."""


class Link:
    """Made by `bind` from the judge's message; addresses are those of the slots here."""

    def __init__(self, command: dict[str, Any], address: int, start: int, stride: int, count: int) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        image = base64.b64decode(command["image"])
        module = ctypes.c_void_p()
        self._check("cuModuleLoadData", ctypes.byref(module), image)
        self._fold, self._flip = ctypes.c_void_p(), ctypes.c_void_p()
        self._check("cuModuleGetFunction", ctypes.byref(self._fold), module, b"fold")
        self._check("cuModuleGetFunction", ctypes.byref(self._flip), module, b"flip")
        states = ctypes.c_uint64()
        self._size = 8 * count
        self._check("cuMemAlloc_v2", ctypes.byref(states), ctypes.c_size_t(self._size))
        self._module, self._states = module, int(states.value)
        self._key = address + command["key"]
        self._outputs = [(address + start + at, size) for at, size in command["outputs"]]
        self._inputs = [(address + start + at, size, item) for at, size, item in command["inputs"]]
        self._stride = stride

    def begin(self, stream: int) -> None:
        """Queue what must come before the first call of a round."""
        self._check(
            "cuMemsetD8Async", ctypes.c_uint64(self._states), ctypes.c_ubyte(0),
            ctypes.c_size_t(self._size), ctypes.c_void_p(stream),
        )  # fmt: skip

    def between(self, call: int, stream: int) -> None:
        """Queue the link from this call to the next one."""
        state = self._states + 8 * call
        for salt, (base, size) in enumerate(self._outputs):
            at = base + call * self._stride
            self._launch(self._fold, size, stream, _u64(at), _u64(self._stride), _u64(size),
                         _u64(self._key), _u32(salt), _u64(state))  # fmt: skip
        for salt, (base, size, item) in enumerate(self._inputs):
            at = base + (call + 1) * self._stride
            self._launch(self._flip, size, stream, _u64(at), _u64(size), _u32(item), _u64(self._key),
                         _u32(salt), _u64(state))  # fmt: skip

    def close(self) -> None:
        """Give its memory back."""
        self._cuda.cuMemFree_v2(ctypes.c_uint64(self._states))
        self._cuda.cuModuleUnload(self._module)

    def _launch(self, function: ctypes.c_void_p, size: int, stream: int, *arguments: Any) -> None:
        blocks = max(1, min(_BLOCKS, -(-size // (8 * _THREADS * _EACH))))
        pointers = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        self._check("cuLaunchKernel", function, blocks, 1, 1, _THREADS, 1, 1, 0, ctypes.c_void_p(stream),
                    pointers, None)  # fmt: skip

    def _check(self, name: str, *arguments: Any) -> None:
        if error := getattr(self._cuda, name)(*arguments):
            raise RuntimeError(f"{name}: error {error}")


def _u64(value: int) -> ctypes.c_uint64:
    return ctypes.c_uint64(value)


def _u32(value: int) -> ctypes.c_uint32:
    return ctypes.c_uint32(value)
