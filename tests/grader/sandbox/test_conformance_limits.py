"""Every backend: each limit, broken by a small program and by nothing smaller."""

import dataclasses
from collections.abc import Callable

import pytest

from grader.sandbox.base import MIB, Backend, Limit, Limits, Process
from grader.sandbox.trial import Outcome

Run = Callable[..., Outcome]
LIMITS = Limits(
    wall_seconds=30, memory_bytes=128 * MIB, processes=24, disk_bytes=8 * MIB, shm_bytes=4 * MIB, inodes=64
)


def limits(**changes: float) -> Limits:
    return dataclasses.replace(LIMITS, **changes)  # type: ignore[arg-type]


def test_every_limit_is_enforced_here(backend: Backend) -> None:
    assert backend.unenforced() == frozenset()


def test_memory_runs_out_at_the_limit_and_not_before(run: Run) -> None:
    code = "held = []\nfor _ in range({}): held.append(bytearray(b'x') * (1 << 20))\nprint('held')"
    fits = run(code.format(80), limits=LIMITS)
    assert (fits.text, fits.exit.out_of_memory) == ("held\n", False)
    peak = fits.exit.usage.memory_peak_bytes
    assert peak is not None
    assert 80 * MIB < peak <= 128 * MIB
    broken = run(code.format(200), limits=LIMITS)
    assert broken.exit.out_of_memory
    assert broken.exit.signal == 9
    assert broken.stopped_by is None


def test_memory_counts_all_processes_together(run: Run) -> None:
    code = """
        import os, time
        for _ in range(4):
            if os.fork() == 0:
                held = bytearray(b'x') * (50 << 20)
                time.sleep(20)
                os._exit(0)
        print([os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(2)])
    """
    outcome = run(code, limits=LIMITS)
    assert outcome.text == "[-9, -9]\n"
    assert outcome.exit.usage.oom_kills >= 2


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])
def test_memory_counts_files_in_scratch(run: Run, folder: str) -> None:
    code = f"""
        open('{folder}/big', 'wb').write(bytes(100 << 20))
        held = bytearray(b'x') * (60 << 20)
        print('held')
    """
    outcome = run(code, limits=limits(disk_bytes=200 * MIB, shm_bytes=200 * MIB))
    assert outcome.exit.out_of_memory
    assert outcome.text == ""


@pytest.mark.parametrize(("folder", "size"), [("/tmp", 8 * MIB), ("/dev/shm", 4 * MIB)])
def test_disk_is_full_at_the_limit(run: Run, folder: str, size: int) -> None:
    code = f"""
        import os
        descriptor = os.open('{folder}/file', os.O_CREAT | os.O_WRONLY)
        written = 0
        try:
            while True:
                written += os.write(descriptor, bytes(65536))
        except OSError as error:
            print(written, error.strerror)
    """
    assert run(code, limits=LIMITS).text == f"{size} No space left on device\n"


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])
def test_files_run_out_at_the_limit(run: Run, folder: str) -> None:
    code = f"""
        count = 0
        try:
            while True:
                open('{folder}/' + str(count), 'w').close()
                count += 1
        except OSError as error:
            print(count, error.strerror)
    """
    assert run(code, limits=LIMITS).text == f"{LIMITS.inodes} No space left on device\n"


def test_open_files_run_out_at_the_limit(run: Run) -> None:
    code = """
        import os
        count = 3
        try:
            while True:
                os.dup(0)
                count += 1
        except OSError as error:
            print(count, error.strerror)
    """
    assert run(code, limits=limits(open_files=100)).text == "100 Too many open files\n"


def test_processes_run_out_at_the_limit(run: Run) -> None:
    code = """
        import os, time
        count = 1
        try:
            while True:
                if os.fork() == 0:
                    time.sleep(60)
                count += 1
        except BlockingIOError:
            print(count)
    """
    outcome = run(code, limits=LIMITS)
    assert outcome.text == f"{LIMITS.processes}\n"
    assert outcome.exit.usage.process_limit_hits > 0


def test_threads_count_as_processes(run: Run) -> None:
    code = """
        import threading, time
        count = 1
        try:
            while True:
                threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
                count += 1
        except RuntimeError:
            print(count, flush=True)
            import os
            os._exit(0)
    """
    assert run(code, limits=LIMITS).text == f"{LIMITS.processes}\n"


def test_fork_bomb_dies_with_its_sandbox(run: Run) -> None:
    code = """
        import os
        while True:
            try:
                os.fork()
                os.setsid()
            except OSError:
                pass
    """
    outcome = run(code, limits=limits(wall_seconds=1))
    assert outcome.stopped_by == Limit.WALL
    assert outcome.exit.usage.process_limit_hits > 0


def test_cpu_time_is_counted_over_processes_and_told_from_wall_time(run: Run) -> None:
    code = """
        import os
        for _ in range(3):
            os.fork()
        while True:
            pass
    """
    outcome = run(code, limits=limits(cpu_seconds=1))
    assert outcome.stopped_by == Limit.CPU
    assert 1 <= outcome.exit.usage.cpu_seconds < 4


def test_cpu_time_ends_a_process_even_if_nobody_watches(
    start: Callable[..., Process],
) -> None:
    process = start("while True: pass", limits=limits(cpu_seconds=0.5))
    try:
        end = process.wait(60)
    finally:
        process.close()
    assert end is not None
    assert end.signal == 24
    assert 0.9 <= end.usage.cpu_seconds < 3


def test_sleep_costs_wall_time_only(run: Run) -> None:
    outcome = run("import time; time.sleep(60)", limits=limits(wall_seconds=0.5))
    assert outcome.stopped_by == Limit.WALL
    assert outcome.exit.usage.cpu_seconds < 0.4


def test_output_is_cut_off(run: Run) -> None:
    outcome = run("import os\nwhile True: os.write(1, bytes(65536))", limits=limits(output_bytes=100_000))
    assert outcome.stopped_by == Limit.OUTPUT
    assert len(outcome.stdout) == 100_000


def test_a_crash_dumps_no_core(run: Run) -> None:
    code = """
        import os
        if os.fork() == 0:
            os.abort()
        print(os.waitstatus_to_exitcode(os.wait()[1]), os.listdir('.'))
    """
    assert run(code).text == "-6 []\n"


def test_the_machine_sacrifices_the_candidate_first(run: Run) -> None:
    code = """
        import os
        descriptor = os.open('/proc/self/oom_score_adj', os.O_RDWR)
        print(os.read(descriptor, 10))
        try:
            os.write(descriptor, b'-1000')
        except PermissionError:
            print('refused')
    """
    assert run(code).text == "b'1000\\n'\nrefused\n"
