"""Starts the harnesses of several ranks in one sandbox: torch is imported once, then each rank is forked.

Importing takes seconds and forking milliseconds. A rank has descriptors of its own under the numbers that a
harness alone has, a folder of its own, and none of the others' pipes. What stays here says how a rank ended
(its answers then end with that), and asks all ranks for their stacks when the judge wants to see them.
"""

import faulthandler
import os
import platform
import signal
import sys
import threading
from pathlib import Path

from . import frames

CONTROL = 3
"""A byte here asks for the stacks of all ranks."""
FIRST = 4
"""Descriptor of rank 0's commands; its answers, arena and stacks follow, then those of rank 1."""
EACH = 4
STACKS = 7
"""Where a rank's own stack goes; its commands, answers and arena have the numbers of a harness alone."""
ASK = signal.SIGUSR1


def main(language: str, ranks: int) -> None:
    """Import, fork, and wait until every rank has ended."""
    import torch
    import torch.distributed

    torch.set_num_threads(1)
    versions = {"python": platform.python_version(), "torch": str(torch.__version__), "triton": ""}
    signal.signal(ASK, signal.SIG_IGN)  # Of this process; each rank has its own answer to it.
    alive: dict[int, int] = {}
    for rank in range(ranks):
        pid = os.fork()
        if pid == 0:
            _rank(rank, ranks, language, versions)
        alive[pid] = FIRST + EACH * rank + 1
    for number in range(FIRST, FIRST + EACH * ranks):
        if number not in alive.values():
            os.close(number)
    threading.Thread(target=_ask_for_stacks, args=(alive,), daemon=True).start()
    while alive:
        pid, status = os.wait()
        answers = alive.pop(pid, None)
        if answers is not None:
            _report(answers, status)


def _rank(rank: int, ranks: int, language: str, versions: dict[str, str]) -> None:
    """What a fork does: become that rank, obey, end."""
    status = 1
    try:
        _take_descriptors(rank, ranks)
        faulthandler.enable(STACKS)
        faulthandler.register(ASK, STACKS, all_threads=True)
        folder = f"{os.environ['TMPDIR']}/rank-{rank}"
        Path(folder).mkdir()
        meeting = os.environ["TMPDIR"]
        os.environ["TMPDIR"] = folder
        from . import together  # Only now: where its files lie follows from the environment.

        frames.send({"type": "ready", **versions})
        together.TogetherHarness(language, rank, ranks, meeting).run()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)


def _take_descriptors(rank: int, ranks: int) -> None:
    base = FIRST + EACH * rank
    for at, number in enumerate((frames.COMMANDS, frames.ANSWERS, 5, STACKS)):
        os.dup2(base + at, number)  # None of these lies above the one it is copied from.
    os.close(6)
    os.closerange(STACKS + 1, max(STACKS + 1, FIRST + EACH * ranks))


def _ask_for_stacks(alive: dict[int, int]) -> None:
    while os.read(CONTROL, 1):
        for pid in tuple(alive):
            os.kill(pid, ASK)


def _report(answers: int, status: int) -> None:
    """The last word of a rank, on its behalf."""
    code = os.waitstatus_to_exitcode(status)
    try:
        frames.send({"type": "ended", "status": code}, answers)
    except OSError:  # The judge has closed the channel.
        pass
    finally:
        os.close(answers)


if __name__ == "__main__":
    main(sys.argv[2], int(sys.argv[3]))
