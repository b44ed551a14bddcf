"""Start a process with exactly the given descriptors, from a thread that outlives its caller.

`subprocess` cannot renumber descriptors without Python code between fork and exec, which is unsafe in a
process with threads; glibc's posix_spawn can. All spawning happens on one thread for each process: the
kernel delivers a parent-death signal when the parent's *thread* ends, so a sandbox started from a
short-lived thread would die with that thread.
"""

import ctypes
import fcntl
import functools
import os
import signal
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

_SETSIGDEF = 0x04
_SETSIGMASK = 0x08
_SETSID = 0x80
_OBJECT_BYTES = 1024
"""More than any libc's posix_spawn_file_actions_t, posix_spawnattr_t and sigset_t."""


def spawn(
    program: str, argv: Sequence[str], environment: Mapping[str, str], descriptors: Mapping[int, int]
) -> int:
    """Start `program` in a session of its own and return its pid; the caller must reap it.

    `descriptors` maps every number the child has (0, 1, 2 included) to a descriptor of this process;
    all others are closed. Signals have default handlers and none is blocked. Raises OSError.
    """
    return _spawner(os.getpid()).submit(_spawn, program, argv, environment, descriptors).result()


@functools.lru_cache(maxsize=1)
def _spawner(_pid: int) -> ThreadPoolExecutor:
    """The spawning thread of this process: keyed by pid, since threads do not survive a fork."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="spawner")


def _spawn(
    program: str, argv: Sequence[str], environment: Mapping[str, str], descriptors: Mapping[int, int]
) -> int:
    libc = ctypes.CDLL(None)
    actions, attributes, signals = (ctypes.create_string_buffer(_OBJECT_BYTES) for _ in range(3))
    above = max(descriptors, default=2) + 1
    # Sources are moved above every target first, so that no dup2 overwrites a later source.
    sources = {
        number: fcntl.fcntl(source, fcntl.F_DUPFD_CLOEXEC, above) for number, source in descriptors.items()
    }
    pid = ctypes.c_int()
    try:
        _check(libc.posix_spawn_file_actions_init(actions))
        _check(libc.posix_spawnattr_init(attributes))
        for number in range(above):
            if number in sources:
                _check(libc.posix_spawn_file_actions_adddup2(actions, sources[number], number))
            else:
                _check(libc.posix_spawn_file_actions_addclose(actions, number))
        _close_from(libc, actions, above)
        flags = ctypes.c_short(_SETSIGDEF | _SETSIGMASK | _SETSID)
        _check(libc.posix_spawnattr_setflags(attributes, flags))
        libc.sigemptyset(signals)
        _check(libc.posix_spawnattr_setsigmask(attributes, signals))
        for number in signal.valid_signals():
            libc.sigaddset(signals, int(number))
        _check(libc.posix_spawnattr_setsigdefault(attributes, signals))
        _check(
            libc.posix_spawn(
                ctypes.byref(pid),
                os.fsencode(program),
                actions,
                attributes,
                _strings(argv),
                _strings([f"{name}={value}" for name, value in environment.items()]),
            )
        )
    finally:
        libc.posix_spawn_file_actions_destroy(actions)
        libc.posix_spawnattr_destroy(attributes)
        for source in sources.values():
            os.close(source)
    return pid.value


def _close_from(libc: ctypes.CDLL, actions: ctypes.Array[ctypes.c_char], first: int) -> None:
    """Have the child close `first` and all above it."""
    try:
        close_from = libc.posix_spawn_file_actions_addclosefrom_np
    except AttributeError:  # glibc before 2.34: name those that would be inherited
        for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
            if number >= first:
                _check(libc.posix_spawn_file_actions_addclose(actions, number))
    else:
        _check(close_from(actions, first))


def _strings(values: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    """A NULL-terminated array of C strings."""
    encoded = [os.fsencode(value) for value in values]
    return (ctypes.c_char_p * (len(encoded) + 1))(*encoded, None)


def _check(code: int) -> None:
    if code != 0:
        raise OSError(code, os.strerror(code))
