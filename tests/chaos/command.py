"""The command line of chaos: seeds, both databases at once, and what came of them."""

import argparse
import logging
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import active_children, get_context
from pathlib import Path
from types import FrameType

import structlog

from tests.chaos.assignment import made
from tests.chaos.databases import DATABASES
from tests.chaos.run import Result, run
from tests.chaos.stage import Bundles


def main() -> int:
    """Run what the command line says; 0 if all was good."""
    options = parse(sys.argv[1:])
    names = list(DATABASES) if options.database == "both" else [options.database]
    runs = todo(names, options.seeds, _held(options), options.seed)
    root = options.keep or Path(tempfile.mkdtemp(prefix="chaos-"))
    signal.signal(signal.SIGTERM, _end)
    good = False
    try:
        ends = [_seed(root, seed, lacking, options, len(names)) for seed, lacking in runs]
        good = all(ends)
    finally:
        if good and options.keep is None:
            shutil.rmtree(root)
        else:
            _say(f"logs: {root}")
    return 0 if good else 1


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos", description="Kill everything; lose nothing."
    )
    parser.add_argument(
        "--submissions", type=int, default=200, help="at least so many in all, shared among the databases"
    )
    parser.add_argument(
        "--sandboxed", type=int, help="of these with the real judge; one in sixteen if not given"
    )
    parser.add_argument("--seed", type=int, help="drawn anew if not given")
    parser.add_argument("--seeds", type=int, default=1, help="so many runs, each of that many submissions")
    parser.add_argument("--database", choices=[*DATABASES, "both"], default="both")
    parser.add_argument("--students", type=int, default=12)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--pause", type=float, default=8.0, help="mean seconds between two acts")
    parser.add_argument(
        "--bundles", type=Path, help="folder of the assignments' bundles, made there if missing"
    )
    parser.add_argument(
        "--output", type=Path, help="write the result there (see benchmarks/), each run's when it ends"
    )
    parser.add_argument(
        "--append",
        action="store_true",
        help="keep what the output holds, and run only what of the seeds lacks",
    )
    parser.add_argument(
        "--keep", type=Path, help="keep logs and databases in this folder, which must not exist"
    )
    options = parser.parse_args(arguments)
    if options.seed is not None and options.seeds > 1:
        parser.error("--seed names one run, --seeds draws several")
    if options.append and options.output is None:
        parser.error("--append needs an --output")
    return options


def command_of(options: argparse.Namespace) -> str:
    """What draws the same runs in one go, wherever their logs lie and whatever pieces they came in."""
    usual = vars(parse([]))
    drawn = ("submissions", "sandboxed", "seed", "seeds", "database", "students", "workers", "pause")
    words = ["python -m tests.chaos"]
    for name in drawn:
        value = getattr(options, name)
        if value != usual[name]:
            words.append(f"--{name} {value}")
    return " ".join([*words, f"--output benchmarks/results/{options.output.name}"])


def _prepare() -> None:
    """Of a process with a run: told to end, it stops its site first; that others end is no news."""
    signal.signal(signal.SIGTERM, _end)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))


def _end(_number: int, _frame: FrameType | None) -> None:
    for child in active_children():
        child.terminate()
    sys.exit(128 + signal.SIGTERM)


def todo(
    names: Sequence[str], seeds: int, held: Mapping[int, Collection[str]], seed: int | None = None
) -> list[tuple[int, list[str]]]:
    """So many seeds (or that one), each with the databases on which it has not run yet (`held`).

    Those that were begun go first; what lacks nothing is left out.
    """
    found = [seed] if seed is not None else [*held][:seeds]
    found += [secrets.randbelow(10**6) for _ in range(seeds - len(found))]
    lacking = [(one, [name for name in names if name not in held.get(one, ())]) for one in found]
    return [(one, databases) for one, databases in lacking if databases]


def _held(options: argparse.Namespace) -> Mapping[int, Collection[str]]:
    """What the output holds and keeps."""
    if options.output is None:
        return {}
    from tests.chaos import result

    if not options.append:
        options.output.unlink(missing_ok=True)
    return result.databases_by_seed(options.output)


def _seed(root: Path, seed: int, names: Sequence[str], options: argparse.Namespace, shares: int) -> bool:
    """One run on each database, of that share of the submissions; whether all was good."""
    _say(f"seed {seed}")
    bundles = made(options.bundles or root / "bundles")
    # Each in a process of its own, both at once.
    with ProcessPoolExecutor(len(names), mp_context=get_context("spawn"), initializer=_prepare) as pool:
        runs = [pool.submit(_run, root / str(seed), name, seed, bundles, options, shares) for name in names]
        results = []
        for running in as_completed(runs):
            results.append(running.result())
            if options.output is not None:
                from tests.chaos.result import add

                add(options.output, results[-1], command_of(options))
    return _report(results)


def _run(
    folder: Path, name: str, seed: int, bundles: Bundles, options: argparse.Namespace, shares: int
) -> Result:
    submissions = -(-options.submissions // shares)
    sandboxed = submissions // 16 if options.sandboxed is None else -(-options.sandboxed // shares)
    result = run(
        folder / name, name, seed, bundles, submissions=submissions, sandboxed=max(1, sandboxed),
        students=min(options.students, submissions), workers=options.workers, pause=options.pause,
        say=lambda text: _say(f"{name}: {text}"),
    )  # fmt: skip
    outcome = result.outcome
    _say(
        f"{name}: submitted {len(outcome.submitted)} (and {len(outcome.found)} without an answer; "
        f"{len(outcome.sandboxed)} run in a sandbox), final {len(outcome.final)}, lost {len(outcome.lost)}, "
        f"double {len(outcome.double)}, stuck {len(outcome.stuck)}; "
        f"killed thrice {len(outcome.grader_errors)}, graded again {outcome.reruns}; {result.seconds:.0f} s"
        f", of which the machine stood still for {result.stood_still_seconds:.0f}"
    )
    _say(f"{name}: " + ", ".join(f"{act} {count}" for act, count in sorted(result.acts.items())))
    for what, ids in (("lost", outcome.lost), ("double", outcome.double), ("stuck", outcome.stuck)):
        for identity in sorted(ids):
            _say(f"{name}: {what}: {identity}")
    for fault in outcome.faults:
        _say(f"{name}: fault: {fault}")
    return result


def _report(results: Sequence[Result]) -> bool:
    outcomes = [result.outcome for result in results]
    counts = {
        name: sum(len(getattr(outcome, name)) for outcome in outcomes)
        for name in ("submitted", "final", "lost", "double", "stuck")
    }
    # What was taken without an answer is final too, and is no more than that.
    counts["final"] -= sum(len(outcome.final & outcome.found) for outcome in outcomes)
    _say(", ".join(f"{name} {count}" for name, count in counts.items()))
    return all(outcome.is_good for outcome in outcomes)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
