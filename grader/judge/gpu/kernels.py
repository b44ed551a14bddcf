"""Our kernels, compiled once a process for the device at hand, and launched on torch's current stream."""

import ctypes
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.judge.gpu.driver import CudaError, check

SOURCE = Path(__file__).with_name("kernels.cu")
Argument = tuple[Any, int | float]
"""A ctypes type and a value."""


def address(value: int) -> Argument:
    """An address or 64-bit number as an argument."""
    return ctypes.c_uint64, value


def word(value: int) -> Argument:
    """A 32-bit number as an argument."""
    return ctypes.c_uint32, value


class Launch:
    """A kernel with its arguments, ready to be queued without any work in between."""

    def __init__(
        self,
        name: str,
        blocks: int,
        threads: int,
        arguments: Sequence[Argument],
        *,
        rows: int = 1,
        among: Mapping[str, Any] | None = None,
    ) -> None:
        """`rows` of so many blocks; `among` are functions of another source than `kernels.cu`."""
        self._function = (_functions() if among is None else among)[name]
        self._blocks, self._rows, self._threads = blocks, rows, threads
        self._values = [kind(value) for kind, value in arguments]
        self._pointers = (ctypes.c_void_p * len(self._values))(*map(ctypes.addressof, self._values))

    def queue(self) -> None:
        """Queue it on the current stream. Raises CudaError."""
        import torch
        from cuda.bindings import driver

        stream = torch.cuda.current_stream().cuda_stream
        check(
            driver.cuLaunchKernel(
                self._function, self._blocks, self._rows, 1, self._threads, 1, 1, 0, stream,
                ctypes.addressof(self._pointers), 0,
            )
        )  # fmt: skip


def processors() -> int:
    """Streaming multiprocessors of the current device."""
    import torch

    return int(torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count)


@functools.cache
def image(source: Path) -> bytes:
    """A source compiled for the device at hand. Raises CudaError with the compiler's words."""
    import torch
    from cuda.bindings import nvrtc

    torch.zeros(1, device="cuda")  # The context that modules are loaded into.
    major, minor = torch.cuda.get_device_capability()
    program = check(nvrtc.nvrtcCreateProgram(source.read_bytes(), source.name.encode(), 0, [], []))
    options = [f"--gpu-architecture=sm_{major}{minor}".encode(), b"--std=c++17"]
    try:
        check(nvrtc.nvrtcCompileProgram(program, len(options), options))
    except CudaError as error:
        log = b" " * check(nvrtc.nvrtcGetProgramLogSize(program))
        nvrtc.nvrtcGetProgramLog(program, log)
        raise CudaError(f"{error}: {log.decode(errors='replace')}") from error
    compiled: bytes = b" " * check(nvrtc.nvrtcGetCUBINSize(program))
    check(nvrtc.nvrtcGetCUBIN(program, compiled))
    return compiled


def functions(source: Path, names: Sequence[str]) -> dict[str, Any]:
    """The kernels of a source, loaded. Raises CudaError."""
    from cuda.bindings import driver

    module = check(driver.cuModuleLoadData(image(source)))
    return {name: check(driver.cuModuleGetFunction(module, name.encode())) for name in names}


@functools.cache
def _functions() -> dict[str, Any]:
    return functions(SOURCE, ("fill", "evict", "watchdog", "gather", "rows"))
