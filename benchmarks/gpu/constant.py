"""Empty rounds on a device in several fresh sandboxes: the constant and its scatter, by session.

python -m benchmarks.gpu.constant
"""

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

from benchmarks import results_schema
from grader.judge import environment, overhead
from grader.judge.gpu.device import Device
from grader.sandbox import registry

OUTPUT = results_schema.RESULTS / "constant.h200.json"
SESSIONS = 6
ROUNDS = 200


def main() -> int:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hardware", default="h200")
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    device = Device.open(arguments.hardware)
    backend = registry.choose(None)
    rows: list[dict[str, Any]] = []
    for language in ("native", "python"):
        for number in range(1, arguments.sessions + 1):
            own = overhead.candidate(backend, device, native=language == "native")
            seconds = overhead.empty_rounds(own, ROUNDS)
            low, middle, high = statistics.quantiles(seconds, n=4)
            rows.append(
                {
                    "id": f"{language}/{number}",
                    "rounds": ROUNDS,
                    "seconds": {
                        "min": min(seconds), "q1": low, "median": middle, "q3": high, "max": max(seconds)
                    },
                }
            )  # fmt: skip
            print(rows[-1], flush=True)
    header = results_schema.header(
        "python -m benchmarks.gpu.constant", device.name, device.driver, environment.judge_version()
    )
    header["environment"] |= {"device_judge": environment.device_judge()}
    device.close()
    results = results_schema.ResultsFile.model_validate({**header, "rows": rows})
    results_schema.write(arguments.output, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
