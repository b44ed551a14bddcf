"""What the calls of a submission spend their time in, by torch's profiler; what its machine code is made of.

It runs among the submission's code, which could say anything: advice to its author, of no consequence.
"""

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

MOST = 40
"""Kernels or operators that are told, those that take longest."""
_NAME_CHARS = 240
_DUMP_SECONDS = 30.0
_CUDA_PLACES = "/usr/local/cuda/bin:/opt/cuda/bin:/usr/local/bin"
_FEATURES = {
    "wgmma": r"\b[HIQB]GMMA\b",
    "mma": r"\b[HIQD]MMA\b",
    "tma": r"\b(?:UTMALDG|UTMASTG|UBLKCP|UTMAREDG)\b",
    "asynchronous copies": r"\bLDGSTS\b",
    "local memory": r"\b(?:LDL|STL)\b",
}
"""Instructions of the machine code that tell what was used; local memory holds what did not fit registers."""


def profile(
    call: Callable[[int], None], slot: int, calls: int, *, on_device: bool, binaries: Iterable[Path]
) -> dict[str, Any]:
    """Make some calls under the profiler; plain JSON of what they ran."""
    import torch
    from torch.profiler import ProfilerActivity

    kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_device else [])]
    with torch.profiler.profile(activities=kinds) as found:
        for _ in range(calls):
            call(slot)
        if on_device:
            torch.cuda.synchronize()
    return {
        "tool": f"torch profiler {torch.__version__}",
        "kernels": _kernels(found) if on_device else _operators(found),
        "features": _features(binaries) if on_device else {},
    }


def _operators(found: Any) -> list[dict[str, Any]]:
    """Operators by the time that they themselves took on the CPU."""
    events = sorted(found.key_averages(), key=lambda event: -event.self_cpu_time_total)
    return [
        {"name": str(e.key)[:_NAME_CHARS], "calls": int(e.count), "seconds": e.self_cpu_time_total * 1e-6}
        for e in events[:MOST]
    ]


def _kernels(found: Any) -> list[dict[str, Any]]:
    """Kernels by the time that they took on the device, with what a launch of theirs asks for."""
    path = Path(os.environ["TMPDIR"]) / "solmark-trace.json"
    found.export_chrome_trace(str(path))
    total: dict[str, dict[str, Any]] = {}
    for event in json.loads(path.read_text("utf-8"))["traceEvents"]:
        if event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset"):
            continue
        asked = event.get("args", {})
        name = str(event["name"])[:_NAME_CHARS]
        kernel = total.setdefault(name, {"name": name, "calls": 0, "seconds": 0.0})
        kernel["calls"] += 1
        kernel["seconds"] += float(event["dur"]) * 1e-6
        if "registers per thread" in asked:
            kernel["registers"] = int(asked["registers per thread"])
            kernel["shared_bytes"] = int(asked.get("shared memory", 0))
            kernel["grid"] = "x".join(map(str, asked.get("grid", ())))
            kernel["block"] = "x".join(map(str, asked.get("block", ())))
    return sorted(total.values(), key=lambda kernel: -kernel["seconds"])[:MOST]


def _features(binaries: Iterable[Path]) -> dict[str, int]:
    """How often the machine code of these files has each of the telling instructions; {} without a tool."""
    tool = shutil.which("cuobjdump", path=f"{os.environ.get('PATH', os.defpath)}:{_CUDA_PLACES}")
    if tool is None:
        return {}
    counts: Counter[str] = Counter()
    for binary in binaries:
        dump = subprocess.run(
            [tool, "--dump-sass", str(binary)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_DUMP_SECONDS,
            check=False,
        )
        for name, pattern in _FEATURES.items():
            counts[name] += len(re.findall(pattern, dump.stdout))
    return dict(counts)
