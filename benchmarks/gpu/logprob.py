"""Log-probabilities on a device: the two ways of rl/grpo-core's reference, and a softmax over all words.

Each is first held against float64 on odd shapes, then timed between events on random values, at the sizes of
the timed cases. `--measured` takes what an earlier run left, instead of running (rounds of a grading, under
a name that begins with judged, too):

    python -m benchmarks.gpu.logprob --output logprob.h200.json --seconds 60
"""

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks import results_schema
from grader.hardware import profile
from grader.hardware.profile import Profile

REFERENCE = Path(__file__).parents[2] / "reference/rl/grpo-core/h200"
OUTPUT = results_schema.RESULTS / "logprob.h200.json"
SIZES = ((8192, 131072, 4096), (8192, 65536, 2048), (65536, 262144, 1024))
"""Tokens, words, width of the timed cases."""
ODD = ((130, 5003, 320), (1, 1000, 64), (257, 4097, 136), (33, 777, 8), (2048, 65536, 1024))
TILES = (
    (128, 256, 64, 8, 3, 16), (128, 256, 64, 8, 4, 16), (128, 256, 64, 8, 3, 8), (128, 128, 64, 4, 4, 16),
    (128, 128, 64, 8, 4, 16), (256, 128, 64, 8, 3, 16), (128, 256, 128, 8, 2, 16),
)  # fmt: skip
"""Tokens, words, width of a tile; warps, stages, band of tiles."""
PIECES = {8192: (512, 1024, 1536, 2048, 4096), 65536: (128, 256, 512, 1024)}
"""Words at a time, by tokens."""
RELATIVE = 2e-6
Solve = Callable[..., None]
Case = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def main() -> int:
    """Check, time, write; 0 if every way is right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--measured", type=Path, help="a JSON list of T, V, d, name and samples in seconds")
    parser.add_argument("--header", type=Path, help="of the run that `--measured` is of")
    arguments = parser.parse_args()
    hardware = profile.committed("h200")
    if arguments.measured:
        measured = json.loads(arguments.measured.read_text("utf-8"))
        header = json.loads(arguments.header.read_text("utf-8"))
    else:
        wrong = list(errors())
        if wrong:
            print("\n".join(wrong))
            return 1
        measured = list(times(time.monotonic() + arguments.seconds))
        header = results_schema.header("python -m benchmarks.gpu.logprob", hardware.name, driver())
    rows = [row(one, hardware) for one in measured]
    results_schema.write(
        arguments.output, results_schema.ResultsFile.model_validate({**header, "rows": rows})
    )
    for one in rows:
        print(f"{one['id']}: {one['seconds']:.6f} s, {one['fraction']:.1%} of the bound")
    return 0


def driver() -> str:
    """Version of the device's driver."""
    import pynvml

    pynvml.nvmlInit()
    return str(pynvml.nvmlSystemGetDriverVersion())


def row(one: dict[str, Any], hardware: Profile) -> dict[str, Any]:
    """One way at one size, against the operations at the datasheet's rate."""
    tokens, words, width = one["T"], one["V"], one["d"]
    seconds = median(one["samples"])
    bound = 2.0 * tokens * words * width / hardware.units["tensor_bf16"].score
    return {
        "id": f"grpo-core/{width}/{one['name'].replace(' ', '')}",
        "assignment": "rl/grpo-core",
        "tokens": tokens,
        "words": words,
        "width": width,
        "seconds": seconds,
        "bound_seconds": bound,
        "fraction": bound / seconds,
        "samples": {"seconds": one["samples"]},
        "ratios": {"fraction": ["bound_seconds", "seconds"]},
    }


def loaded(name: str) -> Any:
    """A file of the reference."""
    spec = importlib.util.spec_from_file_location(name, REFERENCE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def drawn(tokens: int, words: int, width: int) -> Case:
    """Random hidden states, head and labels, and an output of NaN."""
    size = (6.0 / width**0.5) ** 0.5
    h = torch.empty(tokens, width, device="cuda").uniform_(-size, size).bfloat16()
    w = torch.empty(words, width, device="cuda", dtype=torch.bfloat16)
    for first in range(0, words, 8192):
        part = w[first : first + 8192]
        part.copy_(torch.empty(len(part), width, device="cuda").uniform_(-size, size))
    return (
        h,
        w,
        torch.randint(words, (tokens,), device="cuda"),
        torch.full((tokens,), torch.nan, device="cuda"),
    )


def errors() -> Iterator[str]:
    """What is wrong on odd shapes, by the error of a call against float64."""
    for shape in ODD:
        h, w, labels, logp = drawn(*shape)
        logits = h.double() @ w.double().T
        expected = logits.gather(1, labels[:, None]).squeeze(1) - logits.logsumexp(1)
        for name in ("solution", "pieces"):
            logp.fill_(torch.nan)
            loaded(name).solve(h, w, labels, logp)
            error = float((logp.double() - expected).norm() / expected.norm())
            if not error <= RELATIVE:
                yield f"{name} {shape}: error {error:.2g}"


def times(end: float) -> Iterator[dict[str, Any]]:
    """Seconds of every way at every size, until the time is over."""
    fused, pieces = loaded("solution").solve, loaded("pieces").solve
    for tokens, words, width in SIZES:
        case = drawn(tokens, words, width)
        ways: list[tuple[str, Solve, tuple[Any, ...]]] = [
            *((f"fused{tile}", fused, (tile,)) for tile in TILES),
            *((f"pieces{piece}", pieces, (piece,)) for piece in PIECES[tokens]),
            *([("naive", naive, ())] if tokens == 8192 else []),
        ]
        for name, solve, more in ways:
            if time.monotonic() < end:
                samples = timed(solve, case, more)
                yield {"T": tokens, "V": words, "d": width, "name": name, "samples": samples}


def naive(h: torch.Tensor, w: torch.Tensor, labels: torch.Tensor, logp: torch.Tensor) -> None:
    """Logits of 256 tokens in bfloat16, and a softmax over all words: what the tolerance refuses."""
    for first in range(0, len(h), 256):
        part = slice(first, first + 256)
        scores = torch.log_softmax((h[part] @ w.T).float(), 1)
        logp[part] = scores.gather(1, labels[part, None]).squeeze(1)


def timed(solve: Solve, case: Case, more: tuple[Any, ...], calls: int = 4) -> list[float]:
    """Seconds of each of some calls, after one that warms up."""
    solve(*case, *more)
    torch.cuda.synchronize()
    seconds = []
    for _ in range(calls):
        begin, done = (
            torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call, unused-ignore]
            for _ in range(2)
        )
        begin.record()
        solve(*case, *more)
        done.record()
        done.synchronize()
        seconds.append(begin.elapsed_time(done) * 1e-3)
    return sorted(seconds)


if __name__ == "__main__":
    sys.exit(main())
