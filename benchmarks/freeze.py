"""What the kernel's word "frozen" is worth: is anything of the candidate still runnable, or paid for later?

Threads of our own candidate spin while it is frozen at random moments, on an idle machine and beside programs
that want the same core. After each confirmed freeze: was a thread still runnable, how much CPU time was
booked in the first millisecond, how long until nothing was runnable, and how much was booked after that.

    python -m benchmarks.freeze
"""

import argparse
import multiprocessing
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import results_schema
from grader.hardware.profile import cpu_model
from grader.judge import cores
from grader.judge.clock import SETTLE_MOST_SECONDS, SETTLE_SECONDS
from grader.judge.layout import plan
from grader.judge.own import OwnCandidate
from grader.sandbox import registry
from grader.task import Tensor

FREEZES = 400
BURNERS = (0, 2)
WATCHED_SECONDS = 0.02
OUTPUT = results_schema.RESULTS / "freeze.cpu.json"

_SPINNING = b"""#include "solmark.h"
#include <thread>
extern "C" int solve(const solmark_tensor *tensors, int, const solmark_scalar *, int, void *) {
    *static_cast<int64_t *>(tensors[0].data) = 1;
    for (int i = 0; i < 3; ++i)
        std::thread([] { for (volatile long n = 0;; n = n + 1) {} }).detach();
    return 0;
}
"""


def main() -> int:
    """Freeze, write the results, say what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--freezes", type=int, default=FREEZES)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    own = OwnCandidate.build(registry.choose(None), _SPINNING, b"")
    rows = []
    kind = ""
    for burners in BURNERS:
        with burning(burners):
            kind, row = freezes(own, arguments.freezes)
        rows.append({"id": f"burners-{burners}", "burners": burners, **row})
        print(
            f"{burners} programs beside it: {row['runnable']} of {row['freezes']} freezes confirmed with a "
            f"thread still runnable; at most {row['settle_seconds_max'] * 1e3:.2f} ms until none was, and "
            f"{row['late_seconds_max'] * 1e6:.0f} us booked after that"
        )
    header = results_schema.header("python -m benchmarks.freeze", cpu_model())
    header["environment"] |= {"freezer": kind}
    results_schema.write(
        arguments.output, results_schema.ResultsFile.model_validate({**header, "rows": rows})
    )
    return 0


def freezes(own: OwnCandidate, count: int) -> tuple[str, dict[str, Any]]:
    """The freezer's kind, and a row over `count` freezes of one spinning candidate."""
    slots = plan([Tensor("out", "int64", (1,), "out")], 1)
    first: list[float] = []
    settle: list[float] = []
    late: list[float] = []
    runnable = 0
    with own.start(slots[-1].end) as client:
        freezer = client.process.freezer
        if freezer is None:
            raise SystemExit("this machine has no freezer")
        client.bind(slots, {})
        client.call(0, time.monotonic() + 10)
        for _ in range(count):
            time.sleep(random.uniform(0.001, 0.008))
            freezer.freeze()
            confirmed = time.monotonic()
            runnable += freezer.runnable()
            booked = freezer.cpu_seconds()
            time.sleep(SETTLE_SECONDS)
            first.append(freezer.cpu_seconds() - booked)
            while freezer.runnable() and time.monotonic() - confirmed < SETTLE_MOST_SECONDS:
                time.sleep(SETTLE_SECONDS)
            settle.append(time.monotonic() - confirmed)
            booked = freezer.cpu_seconds()
            time.sleep(WATCHED_SECONDS)
            late.append(freezer.cpu_seconds() - booked)
            freezer.thaw()
        kind = freezer.kind
    samples = {"first_millisecond_seconds": first, "settle_seconds": settle, "late_seconds": late}
    return kind, {
        "freezes": count,
        "runnable": runnable,
        "runnable_fraction": runnable / count,
        **{f"{name}_max": max(values) for name, values in samples.items()},
        **{f"{name}_quantiles": _quantiles(values) for name, values in samples.items()},
        "ratios": {"runnable_fraction": ["runnable", "freezes"]},
    }


def _quantiles(values: list[float]) -> dict[str, float]:
    ranked = sorted(values)
    last = len(ranked) - 1
    return {
        name: ranked[round(share * last)]
        for name, share in zip(results_schema.QUANTILES, (0, 0.25, 0.5, 0.75, 1), strict=True)
    }


@contextmanager
def burning(count: int) -> Iterator[None]:
    """So many processes that use up the candidate's core."""
    cpu = min(cores.choose().candidate)
    burners = [multiprocessing.Process(target=_burn, args=(cpu,), daemon=True) for _ in range(count)]
    for burner in burners:
        burner.start()
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.join()


def _burn(cpu: int) -> None:
    os.sched_setaffinity(0, {cpu})
    while True:
        pass


if __name__ == "__main__":
    raise SystemExit(main())
