"""Compare what a candidate wrote with the oracle: per row in float64, or exactly for integers.

A timed round recomputes every slot, so the comparison is built to be fast: one pass over cache-sized blocks
that keeps three numbers a row. Only when an output fails does a second pass look for the first wrong element.
The verdict never depends on that second pass, which reads the candidate's memory again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import TYPE_CHECKING

from grader.contract import ErrorStats, FirstWrong
from grader.judge import poison
from grader.judge.gpu import rows as device_rows
from grader.task import Slot, Tensor, Tolerance, outputs

if TYPE_CHECKING:
    import torch

BLOCK = 1 << 19
"""Elements handled at once: float64 blocks of it stay in the last-level cache, and calls are so few that
threads which audit side by side seldom wait for the interpreter."""

DEVICE_BLOCK = 1 << 26
"""On a device: few launches count, not a cache."""

EXACT = Tolerance(0.0, 0.0, 0.0)


class AuditError(ValueError):
    """The oracle's answer cannot be used (missing, misshapen, NaN): the assignment's fault."""


@dataclass(frozen=True)
class Comparison:
    """How one output compares with the oracle. Errors are `inf` where a NaN or an infinity is wrong."""

    output: str
    elements: int
    tolerance: Tolerance
    exact: bool
    """Compared exactly: the three errors are then 0 or inf."""
    worst_row: float = 0.0
    mean_row: float = 0.0
    worst_element: float = 0.0
    wrong_elements: int = 0
    """Elements beyond their own limit; 0 when only a row or the mean of the rows is."""
    unwritten: int = 0
    """Elements that still hold the poison, counted only when the output failed."""
    first_wrong: FirstWrong | None = None

    @property
    def passed(self) -> bool:
        """Every error is within its limit (comparisons with NaN are false)."""
        return (
            self.worst_row <= self.tolerance.worst_row
            and self.mean_row <= self.tolerance.mean_row
            and self.worst_element <= self.tolerance.worst_element
        )

    def stats(self) -> ErrorStats:
        """For the Report; errors that are not finite become null."""
        return ErrorStats(
            output=self.output[:64],
            worst_row=_finite(self.worst_row),
            worst_row_limit=self.tolerance.worst_row,
            mean_row=_finite(self.mean_row),
            mean_row_limit=self.tolerance.mean_row,
            worst_element=_finite(self.worst_element),
            worst_element_limit=self.tolerance.worst_element,
            wrong_elements=self.wrong_elements,
            elements=self.elements,
        )

    def join(self, other: "Comparison") -> "Comparison":
        """The same output over both calls: worst errors, means weighted by elements, the earlier index."""
        elements = self.elements + other.elements
        share = other.elements / elements if elements else 0.0
        worse_mean = max(self.mean_row, other.mean_row)
        mean = self.mean_row + (other.mean_row - self.mean_row) * share if isfinite(worse_mean) else inf
        failed = not (self.passed and other.passed)
        return replace(
            self,
            elements=elements,
            worst_row=max(self.worst_row, other.worst_row),
            # One failed call must not be averaged away by the calls around it.
            mean_row=worse_mean if failed else mean,
            worst_element=max(self.worst_element, other.worst_element),
            wrong_elements=self.wrong_elements + other.wrong_elements,
            unwritten=self.unwritten + other.unwritten,
            first_wrong=self.first_wrong or other.first_wrong,
        )


def compare_slot(
    tensors: Sequence[Tensor], found: Slot, expected: Slot, tolerances: Mapping[str, Tolerance]
) -> list[Comparison]:
    """Compare every output and inout of one call; `tolerances` by output name, `*` for the rest.

    Raises `AuditError` if the oracle leaves out an output, gives one that the task does not have, or one that
    is no tensor, of a wrong shape or with a NaN.
    """
    import torch

    results = []
    written = [tensor.name for tensor in outputs(tensors)]
    returned: Mapping[str, object] = expected  # Whatever its type says, authors wrote it.
    for name, value in returned.items():
        if name not in written:
            raise AuditError(f"the oracle returned {name!r}; the outputs are {', '.join(written)}")
        if not isinstance(value, torch.Tensor):
            kind = f"{type(value).__module__}.{type(value).__name__}"
            raise AuditError(f"the oracle's {name!r} is a {kind}; a torch tensor is needed")
    for tensor in outputs(tensors):
        if tensor.name not in expected:
            raise AuditError(f"the oracle returned no {tensor.name!r}")
        tolerance = tolerances.get(tensor.name, tolerances.get("*", EXACT))
        if tensor.count is None:
            results.append(compare(tensor, found[tensor.name], expected[tensor.name], tolerance))
        else:
            results.append(_compare_counted(tensor, found[tensor.name], expected[tensor.name], tolerance))
    return results


def compare(
    tensor: Tensor, found: "torch.Tensor", expected: "torch.Tensor", tolerance: Tolerance
) -> Comparison:
    """Compare one output (shape and dtype of `tensor`, any strides) with the oracle's.

    A row is the last dimension; a scalar is one row of one element. Its error is the root mean square of the
    difference over that of the expected row, or over the smallest normal number of the dtype where the row
    is smaller than that: so a row of zeros admits nothing but (sub)normal dust. Integers and bools are exact.
    """
    import torch

    if tuple(expected.shape) != tuple(found.shape):
        raise AuditError(
            f"the oracle's {tensor.name!r} has shape {tuple(expected.shape)}, not {tuple(found.shape)}"
        )
    exact = not found.dtype.is_floating_point
    if exact and (expected.dtype.is_floating_point or expected.dtype.is_complex):
        raise AuditError(f"the oracle's {tensor.name!r} is {expected.dtype}, but {found.dtype} is exact")
    result = Comparison(
        output=tensor.name, elements=found.numel(), tolerance=EXACT if exact else tolerance, exact=exact
    )
    if found.numel() == 0:
        return result
    rows, wanted = _rows(found), _rows(expected)
    if found.dtype == expected.dtype and not exact and torch.equal(found, expected):
        return result  # The same numbers, and none of them a NaN.
    result = _exact(result, tensor, rows, wanted) if exact else _close(result, rows, wanted)
    return result if result.passed else _locate(result, tensor, found, expected)


def _compare_counted(
    tensor: Tensor, found: "torch.Tensor", expected: "torch.Tensor", tolerance: Tolerance
) -> Comparison:
    """An output of unknown size: the oracle gives the valid rows, and the tail must keep its poison."""
    if expected.dim() != found.dim() or expected.shape[1:] != found.shape[1:] or len(expected) > len(found):
        raise AuditError(
            f"the oracle's {tensor.name!r} of shape {tuple(expected.shape)} does not fit "
            f"into {tuple(found.shape)}"
        )
    rows = len(expected)
    result = compare(tensor, found[:rows], expected, tolerance)
    touched = ~poison.mask(found[rows:], tensor.dtype)
    if not result.passed or not bool(touched.any()):
        return result
    index = [int(i) for i in touched.nonzero()[0]]
    first = FirstWrong(
        output=tensor.name,
        index=(index[0] + rows, *index[1:]),
        expected="untouched: beyond the count",
        found=_text(found[rows:][tuple(index)]),
    )
    return replace(
        result, worst_element=inf, worst_row=inf, wrong_elements=int(touched.sum()), first_wrong=first
    )


def _rows(values: "torch.Tensor") -> "torch.Tensor":
    """As (rows, columns); a view where the strides allow it."""
    return values.reshape(1, 1) if values.dim() == 0 else values.reshape(-1, values.shape[-1])


def _blocks(values: "torch.Tensor") -> Iterator[tuple[slice, list[slice]]]:
    """Groups of rows of a matrix, each with its column blocks, of at most a block's elements."""
    rows, columns = values.shape
    block = DEVICE_BLOCK if values.is_cuda else BLOCK
    height = max(1, block // columns)
    widths = [slice(at, min(at + block, columns)) for at in range(0, columns, block)]
    for at in range(0, rows, height):
        yield slice(at, min(at + height, rows)), widths


def _close(result: Comparison, found: "torch.Tensor", expected: "torch.Tensor") -> Comparison:
    """Row errors of floating-point values, in float64."""
    import torch

    rows, columns = found.shape
    floor = _floor(found)
    if device_rows.handles(found, expected):
        return _close_on_device(result, found, expected, floor)
    worst_row = worst_element = total = 0.0
    for group, widths in _blocks(found):
        squares = torch.zeros(group.stop - group.start, dtype=torch.float64, device=found.device)
        reference = torch.zeros_like(squares)
        largest = torch.zeros_like(squares)
        for width in widths:
            wanted = expected[group, width].to(torch.float64)
            difference = found[group, width].to(torch.float64, copy=True)
            off = torch.linalg.vector_norm(difference.sub_(wanted), dim=1)
            size = torch.linalg.vector_norm(wanted, dim=1)
            if not bool((off.sum() + size.sum()).isfinite()):
                difference, wanted = _difference(found[group, width], expected[group, width])
                off = torch.linalg.vector_norm(difference, dim=1)
                size = torch.linalg.vector_norm(wanted, dim=1)
            squares += off.square_()
            reference += size.square_()
            torch.maximum(largest, difference.abs_().amax(1), out=largest)
        if not bool(reference.isfinite().all()):
            raise AuditError(f"the oracle's {result.output!r} overflows float64 when squared")
        scale = reference.div_(columns).sqrt_().clamp_(min=floor)
        errors = squares.div_(columns).sqrt_().div_(scale)
        worst_row = max(worst_row, float(errors.max()))
        total += float(errors.sum())
        worst_element = max(worst_element, float(largest.div_(scale).max()))
    return replace(result, worst_row=worst_row, mean_row=total / rows, worst_element=worst_element)


def _close_on_device(
    result: Comparison, found: "torch.Tensor", expected: "torch.Tensor", floor: float
) -> Comparison:
    """The same from one pass of a kernel."""
    columns = found.shape[1]
    squares, reference, largest, invalid = device_rows.sums(found, expected).unbind(1)
    if bool(invalid.any()):
        raise AuditError("the oracle's answer contains NaN")
    if not bool(reference.isfinite().all()):
        raise AuditError(f"the oracle's {result.output!r} overflows float64 when squared")
    scale = (reference / columns).sqrt_().clamp_(min=floor)
    errors = (squares / columns).sqrt_().div_(scale)
    return replace(
        result,
        worst_row=float(errors.max()),
        mean_row=float(errors.mean()),
        worst_element=float((largest / scale).max()),
    )


def _difference(found: "torch.Tensor", expected: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor]":
    """(found - expected, expected) in float64 with infinities that agree taken out, NaN made infinite."""
    import torch

    wanted = expected.to(torch.float64)
    difference = found.to(torch.float64, copy=True)
    if bool(wanted.isnan().any()):
        raise AuditError("the oracle's answer contains NaN")
    infinite = wanted.isinf()
    agree = infinite & (difference == wanted)
    difference.sub_(wanted)
    difference[agree] = 0.0
    # Sums that overflow and infinities that disagree count as NaN does: wrong without measure.
    difference[difference.isnan()] = inf
    return difference, wanted.masked_fill(infinite, 0.0)


def _floor(found: "torch.Tensor") -> float:
    """Least scale of a row: the dtype's smallest normal number (of float64, one that can be squared)."""
    import torch

    return max(float(torch.finfo(found.dtype).tiny), 1e-150)


def _exact(result: Comparison, tensor: Tensor, found: "torch.Tensor", expected: "torch.Tensor") -> Comparison:
    """Integers and bools: every element equal, and a bool's byte 0 or 1."""
    import torch

    for group, widths in _blocks(found):
        for width in widths:
            if not torch.equal(_whole(found[group, width], tensor), expected[group, width].to(torch.int64)):
                return replace(result, worst_row=inf, mean_row=inf, worst_element=inf)
    return result


def _whole(values: "torch.Tensor", tensor: Tensor) -> "torch.Tensor":
    """Integers as int64; a bool by its byte, since a candidate may have written any byte there."""
    import torch

    return (values.view(torch.uint8) if tensor.dtype == "bool" else values).to(torch.int64)


def _locate(
    result: Comparison, tensor: Tensor, found: "torch.Tensor", expected: "torch.Tensor"
) -> Comparison:
    """Count the wrong elements and name the first; where only rows are wrong, the worst of the worst row."""
    rows, wanted = _rows(found), _rows(expected)
    wrong = unwritten = 0
    first: tuple[int, int] | None = None
    worst, worst_at = -1.0, (0, 0)
    for group, widths in _blocks(rows):
        scale = None if result.exact else _scale(wanted[group], _floor(found))
        for width in widths:
            block = rows[group, width]
            unwritten += int(poison.mask(block, tensor.dtype).sum())
            if scale is None:
                bad = _whole(block, tensor) != wanted[group, width]
            else:
                relative = _difference(block, wanted[group, width])[0].abs_().div_(scale)
                bad = ~(relative <= result.tolerance.worst_element)
                if float(relative.max()) > worst:
                    worst = float(relative.max())
                    row, column = divmod(int(relative.argmax()), relative.shape[1])
                    worst_at = (group.start + row, width.start + column)
            count = int(bad.sum())
            wrong += count
            if count:
                row, column = (int(i) for i in bad.nonzero()[0])
                at = (group.start + row, width.start + column)
                first = at if first is None else min(first, at)
    at = first or worst_at
    return replace(
        result,
        wrong_elements=wrong,
        unwritten=unwritten,
        first_wrong=FirstWrong(
            output=tensor.name,
            index=_multi_index(at[0] * rows.shape[1] + at[1], tuple(found.shape)),
            expected=_text(wanted[at]),
            found=_text(_whole(rows[at], tensor) if result.exact else rows[at]),
        ),
    )


def _scale(expected: "torch.Tensor", floor: float) -> "torch.Tensor":
    """Root mean square of each row (finite elements only), at least `floor`: (rows, 1)."""
    import torch

    total = torch.zeros(len(expected), dtype=torch.float64, device=expected.device)
    for at in range(0, expected.shape[1], BLOCK):
        block = expected[:, at : at + BLOCK].to(torch.float64)
        total += block.masked_fill(block.isinf(), 0.0).square_().sum(1)
    return total.div_(expected.shape[1]).sqrt_().clamp_(min=floor).unsqueeze(1)


def _multi_index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major multi-index of a flat one; () for a scalar."""
    index: list[int] = []
    for size in reversed(shape):
        flat, at = divmod(flat, size)
        index.append(at)
    return tuple(reversed(index))


def _text(value: "torch.Tensor") -> str:
    """One element for a person: nine significant digits, enough to tell any two float32 apart."""
    number = value.item()
    return f"{number:.9g}" if isinstance(number, float) else str(number)


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
