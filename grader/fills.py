"""Fresh input values for slots: each tensor from a 128-bit seed alone, fast enough for every timed round.

The bits come from numpy's SFC64, keyed by the seed and a label (one label a tensor). torch's CPU generator
is not used: it keeps 32 bits of its seed, which a submission can search in minutes. A candidate that could
make its inputs again would not have to read them, so nothing is tiled, shared or repeated.

Values are made in pieces that stay in a core's cache and written once: about 2 ns an element of float32 on
one core. The same seed gives the same values whatever the strides of the tensor.

Tensors on a device are not filled at once: a recorder (`recording`) takes down what is asked, and the judge
has all slots filled by one kernel, so that nothing can run in between. Their values are others than on a CPU.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import torch

SEED_BITS = 128
_PIECE = 1 << 17
"""Elements made at a time: small enough for a cache, and so many that threads which fill side by side seldom
wait for the interpreter."""

Floats: TypeAlias = "np.ndarray[Any, np.dtype[np.float32]] | np.ndarray[Any, np.dtype[np.float64]]"


class Recorder(Protocol):
    """Takes down fills of tensors on a device, with the same meaning as the functions of this module."""

    def uniform(self, tensor: "torch.Tensor", seed: int, label: str, low: float, high: float) -> None:
        """See `uniform`."""
        ...

    def rows(
        self, tensor: "torch.Tensor", seed: int, label: str, exponent: float, heavy: float, outliers: float
    ) -> None:
        """See `rows`."""
        ...

    def integers(self, tensor: "torch.Tensor", seed: int, label: str, low: int, high: int) -> None:
        """See `integers`."""
        ...


_recorder: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Within, fills of tensors that do not lie in the CPU's memory go to the recorder."""
    token = _recorder.set(recorder)
    try:
        yield
    finally:
        _recorder.reset(token)


def _recorded(tensor: "torch.Tensor") -> Recorder | None:
    """Who takes down a fill of this tensor; None for one of the CPU's. Raises TypeError if nobody does."""
    if tensor.device.type == "cpu":
        return None
    recorder = _recorder.get()
    if recorder is None:
        raise TypeError(f"a tensor on {tensor.device} is filled within a timed round only")
    return recorder


def generator(seed: int, label: str) -> np.random.Generator:
    """Generator that depends on all 128 bits of `seed` and on `label`; raises ValueError for other seeds."""
    if not 0 <= seed < 1 << SEED_BITS:
        raise ValueError(f"a seed is an integer of {SEED_BITS} bits, not {seed}")
    sequence = np.random.SeedSequence(seed, spawn_key=tuple(label.encode()))
    return np.random.Generator(np.random.SFC64(sequence))


def uniform(tensor: "torch.Tensor", seed: int, label: str, low: float = -1.0, high: float = 1.0) -> None:
    """Fill a floating-point tensor with values spread evenly over [low, high]."""
    if (recorder := _recorded(tensor)) is not None:
        recorder.uniform(tensor, seed, label, low, high)
        return
    rows = _rows_of(tensor)
    scale = np.full((rows, 1), high - low)
    _write(tensor, generator(seed, label), scale, np.full((rows, 1), (low + high) / 2))


def rows(
    tensor: "torch.Tensor",
    seed: int,
    label: str,
    *,
    exponent: float = 4.0,
    heavy: float = 1 / 16,
    outliers: float = 1 / 4096,
) -> None:
    """Fill a floating-point tensor so that no statistic of a row (last dimension) can be guessed.

    Each row is uniform, has a random scale of 2^-exponent to 2^exponent, and is shifted by up to its scale;
    a share `heavy` of the rows is 8 times larger. A share `outliers` of all elements, at random places, is
    multiplied by 4 to 16. No magnitude exceeds 2^(exponent + 1) * 8 * 16: float16 holds the default.
    """
    if (recorder := _recorded(tensor)) is not None:
        recorder.rows(tensor, seed, label, exponent, heavy, outliers)
        return
    random = generator(seed, label)
    count = _rows_of(tensor)
    scale = np.exp2(random.uniform(-exponent, exponent, (count, 1)))
    scale *= np.where(random.random((count, 1)) < heavy, 8.0, 1.0)
    shift = scale * random.uniform(-1.0, 1.0, (count, 1))
    places = random.integers(0, max(tensor.numel(), 1), int(random.poisson(outliers * tensor.numel())))
    factors = random.uniform(4.0, 16.0, places.size)
    _write(tensor, random, 2 * scale, shift)
    _multiply(tensor, places, factors)


def integers(tensor: "torch.Tensor", seed: int, label: str, low: int, high: int) -> None:
    """Fill an integer or boolean tensor with integers spread evenly over [low, high], ends included."""
    if (recorder := _recorded(tensor)) is not None:
        recorder.integers(tensor, seed, label, low, high)
        return
    import torch

    random = generator(seed, label)
    for part in _parts(tensor):
        values = random.integers(low, high, tuple(part.shape), dtype=np.int64, endpoint=True)
        part.copy_(torch.from_numpy(values))


def _rows_of(tensor: "torch.Tensor") -> int:
    if tensor.dim() == 0:
        return 1
    return tensor.numel() // tensor.shape[-1] if tensor.shape[-1] else 0


def _parts(tensor: "torch.Tensor") -> Iterator["torch.Tensor"]:
    """Pieces [rows, columns] that cover the tensor in row-major order; the caller writes to each in turn.

    Where strides keep leading dimensions from being merged, the pieces are of a copy written back last.
    """
    import torch

    count = _rows_of(tensor)
    if count == 0:
        return
    columns = tensor.numel() // count
    step = max(1, _PIECE // columns)
    try:
        matrix = tensor.view(count, columns)
    except RuntimeError:
        matrix = torch.empty(count, columns, dtype=tensor.dtype)
    for first in range(0, count, step):
        yield matrix[first : first + step]
    if matrix.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr():
        tensor.copy_(matrix.view(tensor.shape))


def _write(tensor: "torch.Tensor", random: np.random.Generator, scale: Floats, shift: Floats) -> None:
    """Write scale * u + shift, u even over [-1/2, 1/2]; `scale` and `shift` are [rows, 1]."""
    import torch

    if not tensor.is_floating_point() or tensor.device.type != "cpu":
        raise TypeError(f"needs a floating-point CPU tensor, not {tensor.dtype} on {tensor.device}")
    wide = tensor.dtype == torch.float64
    working = np.dtype(np.float64 if wide else np.float32)
    bits = np.dtype(f"i{min(tensor.element_size(), 8)}")
    scale = (scale * 2.0 ** (-8 * bits.itemsize)).astype(working)
    shift = shift.astype(working)
    in_place = tensor.element_size() == working.itemsize
    first = 0
    for part in _parts(tensor):
        here = slice(first, first + part.shape[0])
        first += part.shape[0]
        raw = random.bit_generator.random_raw(-(-part.numel() * bits.itemsize // 8))
        steps = raw.view(bits)[: part.numel()].reshape(part.shape)
        values = part.numpy() if in_place else np.empty(part.shape, working)
        np.copyto(values, steps, casting="unsafe")
        np.multiply(values, scale[here], out=values)
        np.add(values, shift[here], out=values)
        if not in_place:
            part.copy_(torch.from_numpy(values))


def _multiply(
    tensor: "torch.Tensor",
    places: np.ndarray[Any, np.dtype[np.int64]],
    factors: np.ndarray[Any, np.dtype[np.float64]],
) -> None:
    """Multiply the elements at the flat `places` (row-major); a place drawn twice counts once."""
    import torch

    if places.size == 0 or tensor.dim() == 0:
        return
    places, once = np.unique(places, return_index=True)
    index = tuple(torch.from_numpy(axis) for axis in np.unravel_index(places, tuple(tensor.shape)))
    tensor[index] = (tensor[index].to(torch.float64) * torch.from_numpy(factors[once])).to(tensor.dtype)
