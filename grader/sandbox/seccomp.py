"""The system call filter of every sandbox, compiled by libseccomp (through ctypes) to a BPF program.

Everything is allowed but what is listed here: what would reach outside the sandbox, stop or slow the judge,
or widen the kernel's attack surface without use to a numeric program. Calls that honest software tries and
can do without get an errno; calls that no honest program makes, and the 32-bit and x32 ABIs, kill.
"""

import ctypes
import errno
import functools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from grader.sandbox.base import SandboxError

Network = Literal["none", "loopback"]

_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
ERRNO = 0x00050000
_DONE = ERRNO
"""Answered with success and not carried out."""

_BAD_ARCHITECTURE = 2
"""SCMP_FLTATR_ACT_BADARCH; by default only the calling thread is killed, and its process may live on."""
_OPTIMIZE = 8
"""SCMP_FLTATR_CTL_OPTIMIZE; 2 asks for a binary tree instead of a chain of comparisons."""
_NOT_EQUAL, _EQUAL, _GREATER, _MASKED_EQUAL = 1, 4, 6, 7
"""Of enum scmp_compare."""
_INT = 0xFFFFFFFF
"""What the kernel reads of an argument that is an int: the rest of the register is the caller's to choose."""

_NAMESPACES = {
    "time": 0x00000080,
    "mount": 0x00020000,
    "cgroup": 0x02000000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
}
_CLONE_SIGNAL_MASK = 0x000000FF
_MADV_REMOVE = 9
_PR_SCHED_CORE = 62
_PREALLOCATION = (0x40305828, 0x40305829, 0x4030582A, 0x4030582B, 0x40305839)
"""FS_IOC_RESVSP, UNRESVSP, both again with 64 bits, ZERO_RANGE: older names of fallocate, on any file."""
_TIOCSTI = 0x5412
_TIOCLINUX = 0x541C
_RLIMIT_CORE = 4
_MS_SYNC = 4
_RECORD_LOCKS = (6, 7, 37, 38)
"""F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW."""
_SOL_SOCKET = 1
_SOCKET_PROGRAMS = (26, 50, 51, 52)
"""SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF."""
_HUGE_PAGES = {"mmap": (3, 0x40000), "memfd_create": (1, 4), "shmget": (2, 0o4000)}
"""Call -> number of its argument and flag: MAP_HUGETLB, MFD_HUGETLB, SHM_HUGETLB."""
_IPPROTO_UDP = 17
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16

_MOUNTS = """mount umount2 pivot_root chroot move_mount open_tree open_tree_attr fsopen fsconfig fsmount
    fspick mount_setattr"""
_MACHINE = """kexec_load kexec_file_load init_module finit_module delete_module reboot swapon swapoff acct
    iopl ioperm settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname quotactl
    quotactl_fd nfsservctl vhangup lookup_dcookie open_by_handle_at"""
_OTHER_PROCESSES = "ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp setns"
_ATTACK_SURFACE = """userfaultfd perf_event_open bpf keyctl add_key request_key mq_open mq_unlink mq_timedsend
    mq_timedreceive mq_notify mq_getsetattr name_to_handle_at fanotify_init fanotify_mark syslog modify_ldt
    personality sysfs _sysctl uselib ustat"""
_PLACEMENT = """sched_setscheduler sched_setparam sched_setattr setpriority ioprio_set mbind
    migrate_pages move_pages set_mempolicy set_mempolicy_home_node"""
"""The judge's core, its priority, where its memory lies."""
_ABSENT = "clone3 io_uring_setup io_uring_enter io_uring_register memfd_secret"
"""Honest software asks whether the kernel has these, and has another way when it has not. The last one splits
the kernel's own map of the memory into small pages, for good: that slows down whoever comes after."""
_SPLICES = "splice tee vmsplice sendfile sendfile64"
"""They hold a pipe's lock while they wait for the other side, and the judge, who reads from that pipe or
writes to it, would wait with them for ever; nothing could end it. Honest software copies where it must."""

_OLD_ASYNCHRONOUS = "io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents"
"""The whole machine has one number of them, and one process may take all."""
_DISKS = "sync syncfs fsync fdatasync sync_file_range fadvise64"
"""Nothing of a sandbox lies on a disk: what they flush is the host's, and nothing can end who waits for that.
The last one throws the host's compilers and libraries out of its memory: the next program waits for them."""

_ACTIONS: Mapping[str, int] = {
    _MOUNTS: _KILL_PROCESS,
    _MACHINE: _KILL_PROCESS,
    _OTHER_PROCESSES: ERRNO | errno.EPERM,
    _ATTACK_SURFACE: ERRNO | errno.EPERM,
    _PLACEMENT: ERRNO | errno.EPERM,
    _ABSENT: ERRNO | errno.ENOSYS,
    _SPLICES: ERRNO | errno.ENOSYS,
    _OLD_ASYNCHRONOUS: ERRNO | errno.ENOSYS,
    _DISKS: _DONE,
    "fallocate": ERRNO | errno.EOPNOTSUPP,
    # With an error, OpenMP with bound threads would not start them.
    "sched_setaffinity": _DONE,
}
_NUMBERS: Mapping[str, int] = {"set_mempolicy_home_node": 450, "open_tree_attr": 467, "quotactl_fd": 443}
"""Calls younger than some libseccomp that we meet; these numbers are the same on every architecture."""


class _Comparison(ctypes.Structure):
    """struct scmp_arg_cmp."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("datum_a", ctypes.c_uint64),
        ("datum_b", ctypes.c_uint64),
    )


@dataclass(frozen=True)
class Rule:
    """An action for a call, if every comparison (argument, operator, datum, datum) holds."""

    action: int
    call: str
    comparisons: tuple[tuple[int, int, int, int], ...] = ()


def rules(network: Network) -> Iterator[Rule]:
    """All rules of the filter, in no particular order."""
    for calls, action in _ACTIONS.items():
        for call in calls.split():
            yield Rule(action, call)
    refuse = ERRNO | errno.EPERM
    for flag in _NAMESPACES.values():
        yield Rule(refuse, "unshare", ((0, _MASKED_EQUAL, flag, flag),))
        if not flag & _CLONE_SIGNAL_MASK:
            yield Rule(refuse, "clone", ((0, _MASKED_EQUAL, flag, flag),))
    # These would punch holes into the arena, as fallocate would.
    yield Rule(refuse, "madvise", ((2, _MASKED_EQUAL, _INT, _MADV_REMOVE),))
    # A cookie of one's own keeps everybody else off the core's other thread: the judge too.
    yield Rule(refuse, "prctl", ((0, _MASKED_EQUAL, _INT, _PR_SCHED_CORE),))
    for request in _PREALLOCATION:
        yield Rule(ERRNO | errno.EOPNOTSUPP, "ioctl", ((1, _MASKED_EQUAL, _INT, request),))
    for request in (_TIOCSTI, _TIOCLINUX):
        yield Rule(refuse, "ioctl", ((1, _MASKED_EQUAL, _INT, request),))
    # It can set the limits of processes of its own user; the first one of a container is among them.
    yield Rule(refuse, "prlimit64", ((0, _MASKED_EQUAL, _INT, 1),))
    # At a limit of 1 the host runs no handler of core dumps; at 0, to which anybody may lower it, it does.
    yield Rule(_DONE, "setrlimit", ((0, _MASKED_EQUAL, _INT, _RLIMIT_CORE),))
    core = ((0, _NOT_EQUAL, 1, 0), (1, _MASKED_EQUAL, _INT, _RLIMIT_CORE), (2, _NOT_EQUAL, 0, 0))
    yield Rule(_DONE, "prlimit64", core)
    # Locks on parts of files are kernel memory that no cgroup counts, without end; those of flock are one for
    # an open file.
    for command in _RECORD_LOCKS:
        yield Rule(_DONE, "fcntl", ((1, _MASKED_EQUAL, _INT, command),))
    yield Rule(_DONE, "msync", ((2, _MASKED_EQUAL, _MS_SYNC, _MS_SYNC),))
    # The kernel translates them into memory that the whole machine has a fixed amount of.
    for option in _SOCKET_PROGRAMS:
        level = (1, _MASKED_EQUAL, _INT, _SOL_SOCKET)
        yield Rule(refuse, "setsockopt", (level, (2, _MASKED_EQUAL, _INT, option)))
    # The host's reserve of huge pages is in no limit of memory.
    for call, (argument, flag) in _HUGE_PAGES.items():
        yield Rule(ERRNO | errno.ENOMEM, call, ((argument, _MASKED_EQUAL, flag, flag),))
    yield from _socket_rules(network)


def _socket_rules(network: Network) -> Iterator[Rule]:
    """Only local sockets without a network; with loopback also IP, and netlink for getifaddrs."""
    unsupported = ERRNO | errno.EAFNOSUPPORT
    allowed = {_AF_UNIX} if network == "none" else {_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK}
    highest = max(allowed)
    # A pair of any other family makes the kernel look for a module, before it says that there is none.
    yield Rule(unsupported, "socketpair", ((0, _NOT_EQUAL, _AF_UNIX, 0),))
    yield Rule(unsupported, "socket", ((0, _GREATER, highest, 0),))
    for family in set(range(highest + 1)) - allowed:
        yield Rule(unsupported, "socket", ((0, _EQUAL, family, 0),))
    if network == "loopback":
        not_route = ((0, _EQUAL, _AF_NETLINK, 0), (2, _NOT_EQUAL, 0, 0))
        yield Rule(unsupported, "socket", not_route)
        for family in (_AF_INET, _AF_INET6):
            others = ((0, _EQUAL, family, 0), (2, _GREATER, _IPPROTO_UDP, 0))
            yield Rule(ERRNO | errno.EPROTONOSUPPORT, "socket", others)


@functools.cache
def program(network: Network) -> bytes:
    """The filter as an array of struct sock_filter for this architecture; SandboxError without libseccomp."""
    library = load()
    context = library.seccomp_init(_ALLOW)
    if not context:
        raise SandboxError("libseccomp could not make a filter")
    try:
        _check(library.seccomp_attr_set(context, _BAD_ARCHITECTURE, _KILL_PROCESS), "another ABI")
        _check(library.seccomp_attr_set(context, _OPTIMIZE, 2), "optimise")
        for rule in rules(network):
            _add(library, context, rule)
        return _export(library, context)
    finally:
        library.seccomp_release(context)


@functools.cache
def load() -> ctypes.CDLL:
    """The library libseccomp.so.2; SandboxError if it is not installed."""
    try:
        library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    except OSError as error:
        raise SandboxError("libseccomp.so.2 is not installed (package libseccomp2)") from error
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_release.argtypes = [ctypes.c_void_p]
    library.seccomp_release.restype = None
    library.seccomp_attr_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32]
    library.seccomp_syscall_resolve_name.argtypes = [ctypes.c_char_p]
    library.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p,
        ctypes.c_uint32,
        ctypes.c_int,
        ctypes.c_uint,
        ctypes.POINTER(_Comparison),
    ]
    return library


def _add(library: ctypes.CDLL, context: int, rule: Rule) -> None:
    number = library.seccomp_syscall_resolve_name(rule.call.encode())
    if number == -1:
        number = _NUMBERS.get(rule.call, -1)
    if number < 0:
        return  # The call does not exist on this architecture.
    comparisons = (_Comparison * len(rule.comparisons))(
        *(_Comparison(*values) for values in rule.comparisons)
    )
    _check(
        library.seccomp_rule_add_array(context, rule.action, number, len(comparisons), comparisons), rule.call
    )


def _export(library: ctypes.CDLL, context: int) -> bytes:
    descriptor = os.memfd_create("filter")
    try:
        _check(library.seccomp_export_bpf(context, descriptor), "export")
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    finally:
        os.close(descriptor)


def _check(code: int, what: str) -> None:
    if code < 0:
        raise SandboxError(f"libseccomp refused {what}: {os.strerror(-code)}")
