"""How long a sandbox takes to start beyond the interpreter itself, and whether many starts leave anything.

Each start runs an interpreter that prints a line; the time is from the call of `start` to that line. The same
interpreter without a sandbox is timed in between. The first starts come one after the other and are timed,
the others at once from several threads. After the last one all that a sandbox is made of is counted again:
processes of its users, cgroups, mounts, containers, folders, and what the judge itself holds. It needs root,
a Docker daemon, and a machine where nothing else uses the sandboxes.

    python -m benchmarks.sandbox_start --output benchmarks/results/sandbox.json
"""

import argparse
import contextlib
import os
import re
import select
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import results_schema
from grader.hardware import profile
from grader.judge.environment import judge_version
from grader.sandbox import container, engine, handover, registry
from grader.sandbox.base import Backend, Command, Limits, SandboxError

BACKENDS = ("bubblewrap", "docker")
STARTS, TIMED = 500, 100
AT_ONCE = 4
WARM_UP = 10
"""After as many the Docker SDK has all of the 25 connections that it keeps."""
CODE = "import time; print(1, flush=True); time.sleep(60)"
PATIENCE_SECONDS = 60.0


def main() -> int:
    """Measure and write the results file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--starts", type=int, default=STARTS, help="of each backend")
    parser.add_argument("--timed", type=int, default=TIMED, help="of these")
    options = parser.parse_args()
    rows = []
    for name in BACKENDS:
        try:
            backend = registry.choose(name)
        except SandboxError as error:
            print(error, file=sys.stderr)
            return 3
        rows.append(measure(backend, options.starts, options.timed))
        print({key: value for key, value in rows[-1].items() if key != "samples"}, flush=True)
    head = results_schema.header(
        f"python -m benchmarks.sandbox_start --starts {options.starts} --timed {options.timed}",
        device=profile.load("cpu").name,
        judge_version=judge_version(),
    )
    head["environment"]["docker"] = str(engine.connect().info()["ServerVersion"])
    results_schema.write(options.output, results_schema.ResultsFile.model_validate({**head, "rows": rows}))
    return 0


def measure(backend: Backend, starts: int, timed: int) -> dict[str, Any]:
    """One backend's row."""
    users: set[int] = set()
    for _ in range(WARM_UP):  # what is loaded, cached or connected only once
        started(backend, users)
        bare()
    before = held(set())
    seconds, end_seconds, bare_seconds = [], [], []
    for _ in range(timed):
        start, end = started(backend, users)
        seconds.append(start)
        end_seconds.append(end)
        bare_seconds.append(bare())
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda _: started(backend, users), range(starts - timed)))
    after = held(users)
    samples = {"seconds": seconds, "python_seconds": bare_seconds, "end_seconds": end_seconds}
    medians = {name: statistics.median(values) for name, values in samples.items()}
    return {
        "id": backend.name,
        "backend": backend.name,
        "starts": starts,
        "timed": timed,
        **medians,
        "seconds_max": max(seconds),
        "cv": results_schema.cv(seconds),
        "beyond_python_seconds": medians["seconds"] - medians["python_seconds"],
        **{f"left_{name}": after[name] - before[name] for name in before},
        "samples": samples,
    }


def started(backend: Backend, users: set[int]) -> tuple[float, float]:
    """(seconds until it has printed, seconds to end it and leave nothing); adds its uid to `users`."""
    begin = time.perf_counter()
    process = backend.start(Command([backend.python, "-I", "-S", "-c", CODE]), Limits())
    try:
        if not select.select([process.stdout], [], [], PATIENCE_SECONDS)[0]:
            raise SandboxError("a sandbox printed nothing")
        ready = time.perf_counter()
        with contextlib.suppress(OSError):  # it has ended already
            users.add(Path(f"/proc/{process.host_pid}").stat().st_uid)
    finally:
        process.close()
    return ready - begin, time.perf_counter() - ready


def bare() -> float:
    """Seconds until the same program has printed without any sandbox."""
    begin = time.perf_counter()
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", CODE], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        seconds = time.perf_counter() - begin
        process.kill()
    return seconds


def held(users: set[int]) -> dict[str, int]:
    """How much there is of all that our sandboxes, whose uids are `users`, may leave behind."""
    mine = f"-{os.getpid()}-"
    counts: dict[str, Callable[[], int]] = {
        "processes": lambda: _processes(users),
        "cgroups": lambda: _cgroups(mine),
        "mounts": lambda: len(Path("/proc/self/mountinfo").read_text().splitlines()),
        "containers": lambda: sum(
            mine in name for name in engine.connect().containers(container.LABEL).values()
        ),
        "folders": lambda: sum(mine in path.name for path in handover.FOLDER.glob("*")),
        "descriptors": lambda: len(list(Path("/proc/self/fd").iterdir())),
        "children": lambda: len(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()),
        "threads": threading.active_count,
    }
    return {name: count() for name, count in counts.items()}


def _processes(users: set[int]) -> int:
    found = 0
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended
            found += path.stat().st_uid in users
    return found


def _cgroups(mine: str) -> int:
    """Ours, and those that Docker has made for a container and not removed with it."""
    listed = subprocess.run(
        ["docker", "ps", "--all", "--quiet", "--no-trunc"], capture_output=True, text=True, check=True
    )
    containers = set(listed.stdout.split())
    return sum(
        mine in name or (re.fullmatch("[0-9a-f]{64}", name) is not None and name not in containers)
        for _, names, _ in os.walk("/sys/fs/cgroup")
        for name in names
    )


if __name__ == "__main__":
    sys.exit(main())
