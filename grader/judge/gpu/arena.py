"""Memory of a device: the arena that a candidate imports by its descriptor, and private memory."""

import os
from typing import TYPE_CHECKING

from grader.judge.arena import Memory
from grader.judge.gpu.driver import check

if TYPE_CHECKING:
    import torch


class DeviceArena(Memory):
    """At least `size` bytes of the current device, new, zeroed, and shareable by `descriptor`."""

    def __init__(self, size: int) -> None:
        import torch
        from cuda.bindings import driver

        torch.zeros(1, device="cuda")
        device = torch.cuda.current_device()
        kind = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
        properties = driver.CUmemAllocationProp()
        properties.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        properties.location.id = device
        properties.requestedHandleTypes = kind
        recommended = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_RECOMMENDED
        granularity = check(driver.cuMemGetAllocationGranularity(properties, recommended))
        self.size = max(1, -(-size // granularity)) * granularity
        self._handle = check(driver.cuMemCreate(self.size, properties, 0))
        self.descriptor = int(check(driver.cuMemExportToShareableHandle(self._handle, kind, 0)))
        self._base = int(check(driver.cuMemAddressReserve(self.size, 0, 0, 0)))
        check(driver.cuMemMap(self._base, self.size, 0, self._handle, 0))
        access = driver.CUmemAccessDesc()
        access.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        access.location.id = device
        access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        check(driver.cuMemSetAccess(self._base, self.size, [access], 1))
        self.__cuda_array_interface__ = {
            "shape": (self.size,),
            "typestr": "|u1",
            "data": (self._base, False),
            "version": 3,
        }
        self._bytes: torch.Tensor | None = torch.as_tensor(self, device="cuda")
        self._bytes.zero_()
        torch.cuda.synchronize()

    def bytes(self) -> "torch.Tensor":
        """The whole arena as uint8."""
        if self._bytes is None:
            raise ValueError("the arena is closed")
        return self._bytes

    def close(self) -> None:
        """Give the memory back. No view of it may be used afterwards. Safe to call twice."""
        if self._bytes is None:
            return
        import torch
        from cuda.bindings import driver

        self._bytes = None
        torch.cuda.synchronize()
        os.close(self.descriptor)
        check(driver.cuMemUnmap(self._base, self.size))
        check(driver.cuMemAddressFree(self._base, self.size))
        check(driver.cuMemRelease(self._handle))


class Private(Memory):
    """`size` bytes of the current device that no candidate sees."""

    def __init__(self, size: int) -> None:
        import torch

        self._bytes = torch.empty(size, dtype=torch.uint8, device="cuda")

    def bytes(self) -> "torch.Tensor":
        """All of it as uint8."""
        return self._bytes
