"""Named tensors of a dialogue as the bytes of a safetensors file: a JSON header, then the data.

Nothing is ever unpickled. What a candidate sends must have exactly the declared names, dtypes and shapes; its
header is parsed strictly and decides nothing but where a tensor's bytes lie, within the region's copy.
"""

import json
import struct
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from grader.contract import Text, Verdict
from grader.judge.failure import CandidateFailure
from grader.messages import text
from grader.plaintext import clean
from grader.task import ITEM_BYTES, DType, TensorRegion

if TYPE_CHECKING:
    import torch

CODES: Mapping[DType, str] = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
_LENGTH = struct.Struct("<Q")
_SHOWN = 80

_Entry: TypeAlias = tuple[str, list[int], int, int]


def pack(region: TensorRegion, values: "Mapping[str, torch.Tensor]") -> "torch.Tensor":
    """The file as uint8. Raises ValueError for other names, dtypes or shapes than declared."""
    import torch

    if set(values) != set(region.tensors):
        raise ValueError(f"the region {region.name!r} takes {sorted(region.tensors)}, not {sorted(values)}")
    header: dict[str, Any] = {}
    parts: list[torch.Tensor] = []
    at = 0
    for name, (dtype, shape) in region.tensors.items():
        value = values[name]
        if str(value.dtype) != f"torch.{dtype}" or tuple(value.shape) != tuple(shape):
            raise ValueError(
                f"{name!r} of region {region.name!r} is {dtype}{list(shape)}, "
                f"not {value.dtype}{list(value.shape)}"
            )
        size = value.numel() * ITEM_BYTES[dtype]
        header[name] = {"dtype": CODES[dtype], "shape": list(shape), "data_offsets": [at, at + size]}
        if size:
            parts.append(value.detach().contiguous().reshape(-1).view(torch.uint8))
        at += size
    body = json.dumps(header, separators=(",", ":")).encode()
    body += b" " * (-len(body) % 8)
    head = torch.frombuffer(bytearray(_LENGTH.pack(len(body)) + body), dtype=torch.uint8)
    return torch.cat([head, *parts])


def unpack(region: TensorRegion, file: "torch.Tensor") -> "dict[str, torch.Tensor]":
    """The tensors of a file that came from a candidate. Raises CandidateFailure."""
    import torch

    header, data = _header(region, file)
    missing, unknown = (
        [name for name in region.tensors if name not in header],
        set(header) - set(region.tensors),
    )
    if missing or unknown:
        wrong = missing[0] if missing else min(unknown)
        code = "tensor_missing" if missing else "tensor_unknown"
        raise _wrong(
            text(code, region=region.name, name=_shown(wrong), known=_shown(", ".join(region.tensors)))
        )
    found: dict[str, torch.Tensor] = {}
    for name, (dtype, shape) in region.tensors.items():
        code, given, begin, end = header[name]
        if code != CODES[dtype] or given != list(shape):
            wanted = f"{CODES[dtype]} {list(shape)}"
            raise _wrong(
                text(
                    "tensor_shape",
                    region=region.name,
                    name=name,
                    found=_shown(f"{code} {given}"),
                    wanted=wanted,
                )
            )
        size = prod(shape) * ITEM_BYTES[dtype]
        if end - begin != size or not 0 <= begin <= end <= data.numel():
            raise _malformed(region, f"{name}: bytes {begin} to {end} of {data.numel()}")
        raw = data[begin:end].clone()
        if dtype == "bool" and bool((raw > 1).any()):
            raise _wrong(text("blob_bool", name=f"{region.name}.{name}"))
        torch_dtype: torch.dtype = getattr(torch, dtype)
        value = raw.view(torch_dtype).reshape(shape) if size else torch.empty(shape, dtype=torch_dtype)
        if region.finite and value.is_floating_point():
            bad = int((~torch.isfinite(value.double())).sum())
            if bad:
                raise _wrong(
                    text(
                        "tensor_not_finite", region=region.name, name=name, count=bad, elements=value.numel()
                    )
                )
        found[name] = value
    return found


def _header(region: TensorRegion, file: "torch.Tensor") -> "tuple[dict[str, _Entry], torch.Tensor]":
    """By name: dtype code, shape, first and last byte; and the data behind the header."""
    if not file.numel():
        raise _wrong(text("tensor_nothing", region=region.name))
    if file.numel() < _LENGTH.size:
        raise _malformed(region, "it is too short")
    (length,) = _LENGTH.unpack(bytes(file[: _LENGTH.size].tolist()))
    if not 0 < length <= file.numel() - _LENGTH.size:
        raise _malformed(region, f"a header of {length} bytes in {file.numel()}")
    start = _LENGTH.size + length
    try:
        header = json.loads(file[_LENGTH.size : start].numpy().tobytes().decode("utf-8"))
        entries = {str(name): _entry(entry) for name, entry in dict(header).items()}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _malformed(region, f"its header: {clean(str(error), 100)}") from None
    return entries, file[start:]


def _entry(entry: Any) -> _Entry:
    if set(entry) != {"dtype", "shape", "data_offsets"} or not isinstance(entry["shape"], list):
        raise ValueError("an entry has dtype, shape and data_offsets")
    begin, end = entry["data_offsets"]
    numbers = [*entry["shape"], begin, end]
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers):
        raise ValueError("shapes and offsets are integers")
    return str(entry["dtype"]), entry["shape"], begin, end


def _malformed(region: TensorRegion, detail: str) -> CandidateFailure:
    return _wrong(text("tensor_file", region=region.name, detail=detail))


def _wrong(sentence: Text) -> CandidateFailure:
    return CandidateFailure(Verdict.WRONG_ANSWER, sentence, alive=True)


def _shown(words: str) -> str:
    words = clean(words, 1000)
    return words if len(words) <= _SHOWN else f"{words[: _SHOWN - 3]}..."
