"""The regions of an episode in the arena, and named tensors in them as a safetensors file: never a pickle."""

import json
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .arena import Arena
from .failures import SubmissionError

if TYPE_CHECKING:
    import torch

CODES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
_DTYPES = {code: dtype for dtype, code in CODES.items()}
_LENGTH = struct.Struct("<Q")


class Regions:
    """The regions of an episode: `read` what the judge placed, `write` what it shall see."""

    def __init__(self, arena: Arena, layout: list[dict[str, Any]]) -> None:
        self._arena = arena
        self._layout = {region["name"]: region for region in layout}

    def read(self, name: str) -> "torch.Tensor":
        """What lies in a region, as a tensor of one dimension that shares its memory."""
        region = self._layout[name]
        return self._elements(region, int(self._count(region).item()))

    def write(self, name: str, values: "torch.Tensor") -> None:
        """Place values, flattened; of another dtype, or more than fit, they are refused."""
        region = self._layout[name]
        if region["direction"] != "from_candidate":
            raise ValueError(f"the region {name} comes from the judge and cannot be written")
        if str(values.dtype) != f"torch.{region['dtype']}":
            raise ValueError(f"the region {name} takes {region['dtype']}, not {values.dtype}")
        if values.numel() > region["max_elements"]:
            raise ValueError(
                f"the region {name} takes at most {region['max_elements']} elements, not {values.numel()}"
            )
        self._elements(region, values.numel()).copy_(values.detach().reshape(-1))
        self._count(region).fill_(values.numel())

    def read_tensors(self, name: str) -> "dict[str, torch.Tensor]":
        """Copies of the named tensors that the judge placed into a region."""
        import torch

        file = self.read(name)
        (length,) = _LENGTH.unpack(file[: _LENGTH.size].numpy().tobytes())
        start = _LENGTH.size + length
        header = json.loads(file[_LENGTH.size : start].numpy().tobytes())
        found: dict[str, torch.Tensor] = {}
        for key, entry in header.items():
            begin, end = entry["data_offsets"]
            dtype: torch.dtype = getattr(torch, _DTYPES[entry["dtype"]])
            value = torch.empty(entry["shape"], dtype=dtype)
            if end > begin:
                value.view(-1).view(torch.uint8).copy_(file[start + begin : start + end])
            found[key] = value
        return found

    def write_tensors(self, name: str, values: "Mapping[str, torch.Tensor]") -> None:
        """Place named tensors, like a `state_dict()`; the judge holds them against what it declared."""
        import torch

        header: dict[str, Any] = {}
        parts: list[torch.Tensor] = []
        at = 0
        for key, value in values.items():
            if not isinstance(value, torch.Tensor):
                raise SubmissionError(
                    "answer_form", f"{name}: {key!r} is a {type(value).__name__}, not a tensor"
                )
            code = CODES.get(str(value.dtype).removeprefix("torch."))
            if code is None:
                raise SubmissionError("answer_form", f"{name}: {key!r} has dtype {value.dtype}")
            data = value.detach().cpu().contiguous().reshape(-1)
            size = data.numel() * data.element_size()
            header[str(key)] = {"dtype": code, "shape": list(value.shape), "data_offsets": [at, at + size]}
            if size:
                parts.append(data.view(torch.uint8))
            at += size
        body = json.dumps(header, separators=(",", ":")).encode()
        head = torch.frombuffer(bytearray(_LENGTH.pack(len(body)) + body), dtype=torch.uint8)
        total, most = head.numel() + at, self._layout[name]["max_elements"]
        if total > most:
            wanted = {key: f"{dtype}{shape}" for key, (dtype, shape) in self._layout[name]["tensors"].items()}
            detail = f"{name}: the tensors take {total} bytes; {most} suffice for {str(wanted)[:500]}"
            raise SubmissionError("answer_form", detail)
        self.write(name, torch.cat([head, *parts]))

    def _count(self, region: dict[str, Any]) -> "torch.Tensor":
        import torch

        return torch.frombuffer(self._arena.memory, dtype=torch.int64, count=1, offset=region["start"])

    def _elements(self, region: dict[str, Any], count: int) -> "torch.Tensor":
        import torch

        dtype: torch.dtype = getattr(torch, region["dtype"])
        if not count:
            return torch.empty(0, dtype=dtype)
        return torch.frombuffer(self._arena.memory, dtype=dtype, count=count, offset=region["data"])
