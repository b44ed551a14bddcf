"""Calls of the CUDA driver and of nvrtc, with their errors as exceptions."""

from typing import Any

from grader.sandbox.base import SandboxError


class CudaError(SandboxError):
    """A call of the driver failed: the machine's fault, or a device that a candidate has taken down."""


def check(result: tuple[Any, ...]) -> Any:
    """The values of a call (one, or a tuple of several). Raises CudaError."""
    if int(result[0]):
        raise CudaError(f"CUDA: {getattr(result[0], 'name', result[0])}")
    values = result[1:]
    return values[0] if len(values) == 1 else values
