"""One CUDA device of this machine for one session: its lock, its state by NVML, and that it is left clean."""

import fcntl
import gc
import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from grader.contract import Yardstick
from grader.hardware.profile import Hardware, committed
from grader.judge.gpu.driver import CudaError
from grader.sandbox.base import SandboxError

SETTLE_SECONDS = 10.0
"""After a session the driver takes this long at most to clean up behind processes that were killed."""
SLACK_BYTES = 256 << 20
"""Memory in use after a session may exceed that before it by so much: contexts come and go."""
RING_SHARE = 0.6
MOST_SHARE = 0.92
"""Of the device, for ring and judge together."""
LEAST_SHARE = 0.95
"""A yardstick further below its calibrated rate says that the device is not itself."""
_PIECES = 64
_CONTROL = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")


@dataclass(frozen=True)
class Reading:
    """What NVML says now: hertz, degrees Celsius, and why clocks are held down."""

    clocks: dict[str, float] = field(default_factory=dict)
    temperature: float | None = None
    throttled: tuple[str, ...] = ()


class Device:
    """The first CUDA device that this process sees, held exclusively among all processes of this machine."""

    def __init__(
        self, handle: Any, lock: int, uuid: str, nodes: tuple[str, ...], total: int, name: str
    ) -> None:
        self.uuid = uuid
        """As the driver and the nvidia runtime name it: GPU-..."""
        self.nodes = nodes
        """Device files that a sandbox needs."""
        self.total_bytes = total
        self.name = name
        self._handle = handle
        self._lock = lock
        self._used = self._memory_used()
        self._others = self._processes()
        self._noted: Reading | None = None

    @classmethod
    def open(cls, hardware: str) -> Self:
        """Take the device. Raises SandboxError if there is none, it is of another class, or it is taken."""
        nvml = _nvml()
        if nvml is None:
            raise SandboxError("no CUDA device: the driver's management library is not here")
        try:
            import torch

            if not torch.cuda.is_available():
                raise SandboxError("this torch sees no CUDA device")
            name = torch.cuda.get_device_name(0)
            uuid = str(torch.cuda.get_device_properties(0).uuid)
            handle = nvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
            minor = nvml.nvmlDeviceGetMinorNumber(handle)
            total = int(nvml.nvmlDeviceGetMemoryInfo(handle).total)
        except (ImportError, nvml.NVMLError) as error:
            raise SandboxError(f"no CUDA device: {error}") from error
        model = committed(hardware).name.removeprefix("NVIDIA ").split()[0].lower()
        if model not in name.lower().replace("-", " ").split():
            raise SandboxError(f"this device is {name}, which is not of the class {hardware}")
        nodes = tuple(path for path in (f"/dev/nvidia{minor}", *_CONTROL) if Path(path).exists())
        return cls(handle, _locked(uuid), f"GPU-{uuid}", nodes, total, name)

    def ring_bytes(self, working_bytes: int) -> int:
        """Most that a ring may take, where the judge needs so much beside it."""
        return min(int(self.total_bytes * RING_SHARE), int(self.total_bytes * MOST_SHARE) - working_bytes)

    @property
    def compiler_flags(self) -> tuple[str, ...]:
        """What nvcc needs to know of it; on Hopper and later with the architecture's own instructions."""
        import torch

        major, minor = torch.cuda.get_device_capability()
        code = f"{major}{minor}" + ("a" if major >= 9 else "")
        return (f"-gencode=arch=compute_{code},code=sm_{code}",)

    @property
    def driver(self) -> str:
        """Version of the driver."""
        nvml = _nvml()
        return str(nvml.nvmlSystemGetDriverVersion()) if nvml is not None else ""

    def reading(self) -> Reading:
        """Clocks, temperature and throttle reasons; what cannot be read is left out."""
        nvml = _nvml()
        if nvml is None:
            return Reading()
        try:
            clocks = {
                name: nvml.nvmlDeviceGetClockInfo(self._handle, kind) * 1e6
                for name, kind in (("sm", nvml.NVML_CLOCK_SM), ("memory", nvml.NVML_CLOCK_MEM))
            }
            temperature = float(nvml.nvmlDeviceGetTemperature(self._handle, nvml.NVML_TEMPERATURE_GPU))
            reasons = int(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle))
        except nvml.NVMLError:
            return Reading()
        return Reading(clocks, temperature, tuple(n for bit, n in _REASONS.items() if reasons & bit))

    def note(self) -> None:
        """Read the device now, for `noted`: after a round's work, before the device comes to rest."""
        new, old = self.reading(), self._noted or Reading()
        clocks = {name: min(hertz, old.clocks.get(name, hertz)) for name, hertz in new.clocks.items()}
        temperatures = [t for t in (old.temperature, new.temperature) if t is not None]
        reasons = dict.fromkeys([*old.throttled, *new.throttled])
        self._noted = Reading(clocks or old.clocks, max(temperatures, default=None), tuple(reasons))

    def noted(self) -> Reading:
        """Over all that was noted: the lowest clocks, the highest temperature, every throttle reason."""
        return self._noted or self.reading()

    def reserve(self, size: int) -> None:
        """Keep so many bytes for the judge's own tensors, whatever a candidate takes later.

        Raises CudaError if they are not there.
        """
        import torch

        try:
            # torch keeps what it is given back, small pieces and large ones apart.
            # One forgotten tensor would keep the whole of what was reserved before, and so does the
            # workspace of the product's library, which stays for good: it must lie elsewhere.
            gc.collect()
            small = torch.ones(64, 64, dtype=torch.bfloat16, device="cuda")
            torch.mm(small, small)
            torch.cuda.empty_cache()
            torch.empty(size, dtype=torch.uint8, device="cuda")
            pieces = [torch.empty(1 << 20, dtype=torch.uint8, device="cuda") for _ in range(_PIECES)]
            pieces.clear()
        except torch.OutOfMemoryError as error:
            raise CudaError(f"{size >> 20} MiB of the device are not free: {error}") from error

    def yardstick(self, hardware: Hardware | None) -> Yardstick:
        """The judge's own copy and product now, beside the calibrated rates. Takes about 0.2 s."""
        from grader.hardware import device_ceilings

        copy, product = device_ceilings.quick()
        dram = hardware.dram.measured if hardware and hardware.dram else None
        unit = hardware.units.get("tensor_bf16") if hardware else None
        flops = unit.measured if unit else None
        return Yardstick(
            copy_bytes_per_second=copy,
            copy_calibrated=dram,
            matmul_flops=product,
            matmul_calibrated=flops,
            ok=all(now >= LEAST_SHARE * then for now, then in ((copy, dram), (product, flops)) if then),
        )

    def check_clean(self) -> None:
        """Wait until nothing of the session is left. Raises SandboxError: the device must be set aside."""
        import torch

        deadline = time.monotonic() + SETTLE_SECONDS
        torch.cuda.empty_cache()
        while True:
            left = self._processes() - self._others
            own = torch.cuda.memory_reserved() + SLACK_BYTES
            more = self._memory_used() - self._used - own - _CONTEXT_BYTES
            if not left and more <= 0:
                break
            if time.monotonic() > deadline:
                what = f"processes {sorted(left)}" if left else f"{more >> 20} MiB"
                raise SandboxError(f"of the session there are still {what} on the device: it is set aside")
            time.sleep(0.05)
        try:
            probe = torch.arange(1024, device="cuda").sum().item()
        except RuntimeError as error:
            raise CudaError(f"the device does not answer any more: {error}") from error
        if probe != 1023 * 512:
            raise CudaError("the device computes wrongly: it is set aside")

    def close(self) -> None:
        """Let go of the lock; safe to call twice."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _memory_used(self) -> int:
        nvml = _nvml()
        return int(nvml.nvmlDeviceGetMemoryInfo(self._handle).used) if nvml is not None else 0

    def _processes(self) -> set[int]:
        """Pids of compute processes other than this one, as far as the driver can name them."""
        nvml = _nvml()
        if nvml is None:
            return set()
        try:
            found = nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)
        except nvml.NVMLError:
            return set()
        return {int(process.pid) for process in found} - {os.getpid()}


def llc_bytes() -> int:
    """Size of the current device's L2 cache."""
    import torch

    return int(torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size)


_CONTEXT_BYTES = 1 << 30
"""The judge's own context, made after the first look."""
_REASONS = {
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}
"""Bits of NVML's clock event reasons; idling and clocks that somebody has set are none of these."""


def _nvml() -> Any:
    """The initialised module, or None where it or the driver is missing."""
    try:
        import pynvml  # type: ignore[import-untyped,unused-ignore]

        pynvml.nvmlInit()
    except Exception:  # noqa: BLE001 (pynvml's errors are of its own kind, and it may not be there)
        return None
    return pynvml


def _locked(uuid: str) -> int:
    """An exclusive lock on the device among all processes of this machine. Raises SandboxError."""
    path = Path(tempfile.gettempdir()) / f"solmark-gpu-{uuid}.lock"
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise SandboxError(f"the device's lock {path} cannot be opened: {error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise SandboxError("another session holds the device: wait for it") from None
    return descriptor
