"""What holds a site on one machine together: its home has one owner, its children end with it."""

import subprocess
import sys
from pathlib import Path

import pytest

from server.embedded import HomeTakenError, Supervisor, sole_owner, wait_until

HOLD = """
import sys
from pathlib import Path
from server.embedded import sole_owner
with sole_owner(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
LOOP = """
import signal, sys, time
from pathlib import Path
folder, name, needs = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(1))
(folder / f"{name}.up").touch()
while not told:
    time.sleep(0.02)
(folder / f"{name}.told").touch()
while not all((folder / f"{need}.told").exists() for need in needs):
    time.sleep(0.02)
"""


def test_a_home_has_one_owner_who_is_named(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(HomeTakenError, match=f"process {other.pid}: stop it"), sole_owner(tmp_path):
            pytest.fail("held twice")
        other.kill()
        other.wait()
    # Nobody cleaned up after it: the kernel did.
    with sole_owner(tmp_path):
        pass


@pytest.mark.parametrize("command", ["demo", "serve"])
def test_a_second_site_in_one_home_ends_at_once(command: str, tmp_path: Path) -> None:
    with sole_owner(tmp_path / "server"):
        result = subprocess.run(
            [sys.executable, "-m", "server.cli", command],
            env={"SOLMARK_HOME": str(tmp_path), "SOLMARK_SERVER_HOME": str(tmp_path / "server")},
            capture_output=True,
            text=True,
            check=False,
        )
    assert result.returncode == 2, result.stderr
    assert "is in use by process" in result.stderr
    assert not list(tmp_path.glob("server/*.db"))


def test_children_that_stop_together_are_told_together(tmp_path: Path) -> None:
    """The last waits for the one before it to be told: one after the other, neither would end."""
    names = ("first", "second", "third")
    with Supervisor(tmp_path) as supervisor:
        for name in names:
            needs = ["second"] if name == "third" else []
            supervisor.start(
                name,
                [sys.executable, "-c", LOOP, str(tmp_path), name, *needs],
                together=name == "third",
            )
        wait_until(lambda: all((tmp_path / f"{name}.up").exists() for name in names), "children", supervisor)
        children = [supervisor.child(name) for name in names]
    assert [child.process.returncode for child in children if child.process] == [0, 0, 0]
