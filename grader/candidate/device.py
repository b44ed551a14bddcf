"""The arena on a CUDA device: imported by its descriptor through the driver, with ctypes alone."""

import ctypes
from typing import TYPE_CHECKING, Any

from .arena import Placed, Slots

if TYPE_CHECKING:
    import torch

DESCRIPTOR = 6
_POSIX_DESCRIPTOR = 1
_ON_DEVICE = 1
_READ_AND_WRITE = 3
_TYPES = {
    "float64": "<f8", "float32": "<f4", "float16": "<f2", "int64": "<i8", "int32": "<i4", "int16": "<i2",
    "int8": "|i1", "uint8": "|u1", "bool": "|b1",
}  # fmt: skip
"""Those of torch's types that the array interface can name; the others go as bytes."""


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


class DeviceArena:
    """`size` bytes of device 0, mapped at `address` in its primary context."""

    def __init__(self, size: int) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._call("cuDeviceGet", ctypes.byref(device), 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._call("cuCtxSetCurrent", context)
        handle, base = ctypes.c_uint64(), ctypes.c_uint64()
        self._call(
            "cuMemImportFromShareableHandle",
            ctypes.byref(handle),
            ctypes.c_void_p(DESCRIPTOR),
            _POSIX_DESCRIPTOR,
        )
        wide = ctypes.c_size_t(size)
        zero = ctypes.c_uint64(0)
        self._call("cuMemAddressReserve", ctypes.byref(base), wide, ctypes.c_size_t(0), zero, zero)
        self._call("cuMemMap", base, wide, ctypes.c_size_t(0), handle, zero)
        access = _Access(_Location(_ON_DEVICE, device.value), _READ_AND_WRITE)
        self._call("cuMemSetAccess", base, wide, ctypes.byref(access), ctypes.c_size_t(1))
        self.size = size
        self.address = int(base.value)

    def arguments(self, slots: Slots) -> "list[tuple[torch.Tensor, ...]]":
        """For each slot its tensors, each with a storage of its own."""
        return [
            tuple(
                self._tensor(slots.start + index * slots.stride + placed.start, placed)
                for placed in slots.tensors
            )
            for index in range(slots.count)
        ]

    def _tensor(self, start: int, placed: Placed) -> "torch.Tensor":
        import torch

        dtype: torch.dtype = getattr(torch, placed.dtype)
        if 0 in placed.shape:
            return torch.empty_strided(placed.shape, placed.strides, dtype=dtype, device="cuda")
        elements = placed.span // dtype.itemsize
        known = _TYPES.get(placed.dtype)
        count = elements if known else placed.span
        flat = torch.as_tensor(_View(self.address + start, count, known or "|u1"), device="cuda")
        if not known:
            flat = flat.view(dtype)
        return flat.as_strided(placed.shape, placed.strides, placed.offset)

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status != 0:
            raise OSError(f"{name} failed with {status}")


class _View:
    """What `torch.as_tensor` reads: an address, a number of elements, a type."""

    def __init__(self, address: int, count: int, kind: str) -> None:
        self.__cuda_array_interface__ = {
            "shape": (count,),
            "typestr": kind,
            "data": (address, False),
            "version": 3,
        }
