"""Every backend: the system call filter, what it refuses and kills, and what must go on working."""

import errno
import os
import signal
import struct
import sys
from collections.abc import Callable
from typing import get_args

import pytest

from grader.sandbox import seccomp
from grader.sandbox.base import Limits
from grader.sandbox.trial import Outcome

Run = Callable[..., Outcome]

NEW_NAMESPACES = (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)

# x86-64 numbers and arguments that an unfiltered kernel would not refuse with this errno.
REFUSED = {
    "ptrace": (101, (0, 0, 0, 0), errno.EPERM),
    "process_vm_readv": (310, (1, 0, 0, 0, 0, 0), errno.EPERM),
    "process_vm_writev": (311, (1, 0, 0, 0, 0, 0), errno.EPERM),
    "pidfd_getfd": (438, (0, 0, 0), errno.EPERM),
    "io_uring_setup": (425, (1, 0), errno.ENOSYS),
    "userfaultfd": (323, (1,), errno.EPERM),
    "perf_event_open": (298, (0, 0, -1, -1, 0), errno.EPERM),
    "bpf": (321, (0, 0, 0), errno.EPERM),
    "add_key": (248, (0, 0, 0, 0, 0), errno.EPERM),
    "request_key": (249, (0, 0, 0, 0), errno.EPERM),
    "keyctl": (250, (0, 0, 0), errno.EPERM),
    "mq_open": (240, (0, 0, 0, 0), errno.EPERM),
    "fallocate": (285, (0, 0, 0, 4096), errno.EOPNOTSUPP),
    "setns": (308, (0, 0), errno.EPERM),
    "clone3": (435, (0, 0), errno.ENOSYS),
    "memfd_secret": (447, (0,), errno.ENOSYS),
    "splice": (275, (0, 0, 1, 0, 1, 0), errno.ENOSYS),
    "tee": (276, (0, 1, 1, 0), errno.ENOSYS),
    "vmsplice": (278, (1, 0, 0, 0), errno.ENOSYS),
    "sendfile": (40, (1, 0, 0, 1), errno.ENOSYS),
    "sched_setscheduler": (144, (0, 0, 0), errno.EPERM),
    "sched_setattr": (314, (0, 0, 0), errno.EPERM),
    "setpriority": (141, (0, 0, 10), errno.EPERM),
    "ioprio_set": (251, (1, 0, 0x6000), errno.EPERM),
    "name_to_handle_at": (303, (-100, 0, 0, 0, 0), errno.EPERM),
    "personality": (135, (0x40000,), errno.EPERM),
    "set_mempolicy": (238, (0, 0, 0), errno.EPERM),
    "kcmp": (312, (1, 1, 0, 0, 0), errno.EPERM),
    "fanotify_init": (300, (0, 0), errno.EPERM),
    "prctl(PR_SCHED_CORE)": (157, (62, 1, 0, 0, 0), errno.EPERM),
    "madvise(MADV_REMOVE)": (28, (0, 0, 9), errno.EPERM),
    "madvise(MADV_REMOVE + 2**32)": (28, (0, 0, 9 + (1 << 32)), errno.EPERM),  # The kernel reads 32 bits.
    "socket(AF_VSOCK + 2**32)": (41, (40 + (1 << 32), 1, 0), errno.EAFNOSUPPORT),
    "ioctl(FS_IOC_UNRESVSP)": (16, (0, 0x40305829, 0), errno.EOPNOTSUPP),
    "ioctl(FS_IOC_UNRESVSP64 + 2**32)": (16, (0, 0x4030582B + (1 << 32), 0), errno.EOPNOTSUPP),
    "ioctl(FS_IOC_ZERO_RANGE)": (16, (0, 0x40305839, 0), errno.EOPNOTSUPP),
    "ioctl(TIOCSTI)": (16, (0, 0x5412, 0), errno.EPERM),
    "socket(AF_VSOCK)": (41, (40, 1, 0), errno.EAFNOSUPPORT),
    "socket(AF_NETLINK)": (41, (16, 3, 0), errno.EAFNOSUPPORT),
    "socket(AF_ALG)": (41, (38, 5, 0), errno.EAFNOSUPPORT),
    "socket(AF_PACKET)": (41, (17, 3, 0), errno.EAFNOSUPPORT),
    "socket(AF_INET)": (41, (2, 1, 0), errno.EAFNOSUPPORT),
    "socketpair(AF_NETLINK)": (53, (16, 3, 0, 0), errno.EAFNOSUPPORT),
    "io_setup": (206, (1, 0), errno.ENOSYS),
    "setsockopt(SO_ATTACH_FILTER)": (54, (0, 1, 26, 0, 0), errno.EPERM),
    "setsockopt(SO_ATTACH_BPF + 2**32)": (54, (0, 1, 50 + (1 << 32), 0, 0), errno.EPERM),
    "mmap(MAP_HUGETLB)": (9, (0, 0, 3, 0x40022, -1, 0), errno.ENOMEM),
    "memfd_create(MFD_HUGETLB)": (319, (0, 4), errno.ENOMEM),
    "shmget(SHM_HUGETLB)": (29, (0, 0, 0o5600), errno.ENOMEM),
}
# Answered with success, where an unfiltered kernel would find something wrong.
UNDONE = {
    "syncfs": (306, (-1,)),
    "fsync": (74, (-1,)),
    "fdatasync": (75, (-1,)),
    "sync_file_range": (277, (-1, 0, 0, 0)),
    "fadvise64": (221, (-1, 0, 0, 4)),
    "msync(MS_SYNC)": (26, (1, 1, 4)),
    "fcntl(F_SETLK)": (72, (-1, 6, 0)),
    "fcntl(F_SETLKW)": (72, (-1, 7, 0)),
    "fcntl(F_OFD_SETLK)": (72, (-1, 37, 0)),
    "fcntl(F_OFD_SETLKW + 2**32)": (72, (-1, 38 + (1 << 32), 0)),
    "setrlimit(RLIMIT_CORE)": (160, (4, 0)),
    "prlimit64(RLIMIT_CORE)": (302, (0, 4, 1, 0)),
    "sched_setaffinity": (203, (0, 0, 0)),
}
KILLED = {
    "mount": 165,
    "umount2": 166,
    "pivot_root": 155,
    "chroot": 161,
    "fsopen": 430,
    "open_tree": 428,
    "move_mount": 429,
    "open_tree_attr": 467,
    "kexec_load": 246,
    "init_module": 175,
    "finit_module": 313,
    "reboot": 169,
    "swapon": 167,
    "iopl": 172,
    "open_by_handle_at": 304,
    "settimeofday": 164,
    "sethostname": 170,
    "acct": 163,
    "quotactl_fd": 443,
}

DOCKERS_OWN = """acct add_key bpf clock_adjtime clock_settime clone3 delete_module finit_module
    init_module ioperm iopl kcmp kexec_file_load kexec_load keyctl lookup_dcookie mbind mount move_pages
    nfsservctl open_by_handle_at perf_event_open personality pivot_root process_vm_readv process_vm_writev
    ptrace quotactl reboot request_key set_mempolicy setns settimeofday swapoff swapon sysfs _sysctl umount2
    userfaultfd uselib ustat"""
"""Calls that Docker's default profile keeps from a program without capabilities, as its manual lists them;
but for get_mempolicy, which only tells."""
OTHERS = """fsopen fsconfig fsmount fspick move_mount open_tree mount_setattr io_uring_setup io_uring_enter
    io_uring_register pidfd_getfd process_madvise fanotify_init fanotify_mark name_to_handle_at syslog
    migrate_pages set_mempolicy_home_node quotactl_fd memfd_secret modify_ldt mq_open sethostname
    setdomainname chroot adjtimex vhangup splice tee vmsplice sendfile"""
"""And what has come since, or what no numeric program needs."""

CALL = """
    import ctypes, errno, os
    libc = ctypes.CDLL(None, use_errno=True)
    def call(number, *arguments):
        result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
        return errno.errorcode[ctypes.get_errno()] if result == -1 else result
"""


@pytest.fixture(scope="module")
def x86() -> None:
    """System call numbers here are those of x86-64."""
    assert os.uname().machine == "x86_64"


@pytest.mark.usefixtures("x86")
def test_refused_calls_get_an_errno(run: Run) -> None:
    calls = {name: (number, arguments) for name, (number, arguments, _) in REFUSED.items()}
    outcome = run(f"{CALL}    for name, (n, a) in {calls}.items(): print(name, call(n, *a))\n")
    found = dict(line.rsplit(" ", 1) for line in outcome.text.splitlines())
    assert found == {name: errno.errorcode[code] for name, (_, _, code) in REFUSED.items()}
    assert outcome.exit.code == 0


@pytest.mark.usefixtures("x86")
def test_calls_are_answered_with_success_and_not_carried_out(run: Run) -> None:
    code = f"""{CALL}
    import fcntl, resource
    for name, (number, arguments) in {UNDONE}.items():
        print(name, call(number, *arguments))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (99, 99))
    print(*resource.getrlimit(resource.RLIMIT_CORE), *resource.getrlimit(resource.RLIMIT_NOFILE))
    print(call(26, 1, 1, 1))  # of msync, only waiting for a disk is left out
    first, second = (os.open(".", os.O_RDONLY) for _ in range(2))
    fcntl.flock(first, fcntl.LOCK_EX)
    try:
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("locked")
    """
    *done, limits, asynchronous, lock = run(code).text.splitlines()
    assert done == [f"{name} 0" for name in UNDONE]
    assert (limits, asynchronous, lock) == ("1 1 99 99", "EINVAL", "locked")


@pytest.mark.usefixtures("x86")
def test_loopback_has_tcp_and_udp_alone(run: Run) -> None:
    code = f"""{CALL}
    for family in (2, 10):
        for kind, protocol in ((1, 6), (2, 17), (1, 262), (3, 255)):
            print(call(41, family, kind, protocol))
    """
    found = run(code, limits=Limits(network="loopback")).text.splitlines()
    assert all(line.isdecimal() for line in found[:2] + found[4:6]), found
    assert found[2:4] + found[6:] == ["EPROTONOSUPPORT"] * 4


@pytest.mark.usefixtures("x86")
def test_calls_no_honest_program_makes_are_killed(run: Run) -> None:
    code = f"""{CALL}
    import signal
    for name, number in {KILLED}.items():
        child = os.fork()
        if child == 0:
            call(number, 0, 0, 0, 0, 0)
            os._exit(0)
        print(name, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    found = dict(line.split() for line in run(code).text.splitlines())
    assert found == dict.fromkeys(KILLED, str(-signal.SIGSYS))


@pytest.mark.usefixtures("x86")
def test_a_killing_call_of_the_program_itself_is_a_violation(run: Run) -> None:
    end = run(f"{CALL}    call(165, 0, 0, 0, 0, 0)").exit
    assert end.syscall_violation


@pytest.mark.usefixtures("x86")
def test_no_namespace_can_be_made(run: Run) -> None:
    code = f"""{CALL}
    for flag in {NEW_NAMESPACES}:
        print(call(272, flag), call(56, flag | 17, 0, 0, 0, 0) if flag > 0xFF else 'EPERM')
    """
    assert run(code).text == "EPERM EPERM\n" * len(NEW_NAMESPACES)


@pytest.mark.usefixtures("x86")
def test_other_abis_are_killed(run: Run) -> None:
    source = r"""
        #include <cstdlib>
        #include <thread>
        #include <unistd.h>
        int main(int, char** argv) {  // getpid by the numbers of i386 and of x32
            std::thread([] { pause(); }).detach();  // That must not live on without the thread that calls.
            long result;
            if (std::atoi(argv[1]) == 32) asm volatile("int $0x80" : "=a"(result) : "a"(20L));
            else asm volatile("syscall" : "=a"(result) : "a"(0x40000027L) : "rcx", "r11", "memory");
            return 0;
        }
    """
    build = f"cat > a.cpp <<'EOF'\n{source}\nEOF\ng++ -pthread a.cpp -o a || exit; "
    loop = "for abi in 32 64; do timeout 5 ./a $abi; echo $?; done"
    outcome = run(["/bin/sh", "-c", build + loop], limits=Limits())
    assert outcome.text == f"{128 + signal.SIGSYS}\n" * 2, outcome.stderr


LOAD, EQUAL, GREATER, NOT_LESS, MASKED, JUMP, RETURN, AND = 0x20, 0x15, 0x25, 0x35, 0x45, 0x05, 0x06, 0x54
ALLOW, AUDIT_ARCH = 0x7FFF0000, 0xC000003E


def answer(program: bytes, number: int, *arguments: int) -> int:
    """What a filter says of a call: the kernel's own reading of it, for the instructions that occur."""
    data = struct.pack("<IIQ6Q", number, AUDIT_ARCH, 0, *arguments, *[0] * (6 - len(arguments)))
    accumulator = at = 0
    while True:
        code, on_true, on_false, value = struct.unpack_from("<HBBI", program, 8 * at)
        at += 1
        if code == RETURN:
            return int(value)
        if code == LOAD:
            accumulator = struct.unpack_from("<I", data, value)[0]
        elif code == AND:
            accumulator &= value
        elif code == JUMP:
            at += value
        else:
            tests = {
                EQUAL: accumulator == value,
                GREATER: accumulator > value,
                NOT_LESS: accumulator >= value,
                MASKED: bool(accumulator & value),
            }
            at += on_true if tests[code] else on_false


@pytest.mark.usefixtures("x86")
@pytest.mark.parametrize("network", get_args(seccomp.Network))
def test_calls_that_others_refuse_too_are_refused(network: seccomp.Network) -> None:
    program, allowed = seccomp.program(network), []
    for call in (*DOCKERS_OWN.split(), *OTHERS.split()):
        number = seccomp._NUMBERS.get(call, seccomp.load().seccomp_syscall_resolve_name(call.encode()))
        assert number >= 0, f"{call} is no call of this machine"
        if answer(program, number) == ALLOW:
            allowed.append(call)
    assert not allowed


@pytest.mark.usefixtures("x86")
def test_ordinary_calls_are_not_refused() -> None:
    """Of some only certain arguments are: 1 is AF_UNIX."""
    program, resolve = seccomp.program("none"), seccomp.load().seccomp_syscall_resolve_name
    calls = ("read", "write", "mmap", "futex", "clone", "unshare", "ioctl", "socket", "prctl", "madvise")
    assert {answer(program, resolve(call.encode()), 1) for call in calls} == {ALLOW}


def test_pytorch_works(run: Run) -> None:
    code = """
import torch
torch.manual_seed(0)
x = torch.randn(256, 256, requires_grad=True)
(torch.nn.functional.gelu(x @ x) .sum()).backward()
torch.set_num_threads(2)
y = torch.randn(1000, 1000)
print(bool(torch.isfinite(x.grad).all()), (y @ y).shape[0], torch.get_num_threads())
"""
    outcome = run([sys.executable, "-W", "error", "-c", code], limits=Limits())
    assert outcome.text == "True 1000 2\n", outcome.stderr
    assert outcome.stderr == b""


def test_cpp_with_openmp_compiles_and_runs(run: Run) -> None:
    source = """
        #include <cstdio>
        #include <omp.h>
        #include <thread>
        #include <vector>
        int main() {
            std::vector<double> x(1000000, 1.0);
            double sum = 0;
            #pragma omp parallel for reduction(+ : sum) num_threads(2)
            for (size_t i = 0; i < x.size(); ++i) sum += x[i];
            std::thread([&] { sum += 1; }).join();
            std::printf("%.0f %d", sum, omp_get_max_threads() > 0);
        }
    """
    script = f"cat > a.cpp <<'EOF'\n{source}\nEOF\ng++ -O2 -fopenmp -pthread a.cpp -o a && ./a"
    environment = {"OMP_PROC_BIND": "true", "OMP_PLACES": "cores"}
    outcome = run(["/bin/sh", "-c", script], limits=Limits(), environment=environment)
    assert outcome.text == "1000001 1", outcome.stderr


def test_triton_runs_in_its_interpreter(run: Run) -> None:
    code = """
import torch, triton, triton.language as tl
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)
x = torch.arange(1000, dtype=torch.float32)
out = torch.empty_like(x)
add[(4,)](x, x, out, 1000, BLOCK=256)
print(torch.equal(out, 2 * x))
"""
    script = f"cat > kernel.py <<'EOF'\n{code}\nEOF\nexec {sys.executable} kernel.py"
    outcome = run(["/bin/sh", "-c", script], limits=Limits(), environment={"TRITON_INTERPRET": "1"})
    assert outcome.text == "True\n", outcome.stderr
