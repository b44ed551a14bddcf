"""No wheel carries reference solutions, hidden cases or tests."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Names of the files in the wheel built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    # A copy, so that the build leaves nothing in the checkout.
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=60,
    ).stdout.split(b"\0")
    source = folder / "source"
    for raw in filter(None, tracked):
        name = raw.decode()
        origin = ROOT / name
        if origin.is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes(origin.read_bytes())
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            folder,
            source,
        ],
        check=True,
        timeout=170,
    )
    (wheel,) = folder.glob("solmark-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_no_secret_is_in_the_wheel(wheel_names: list[str]) -> None:
    assert not [name for name in wheel_names if "reference/" in name or "hidden/" in name]
    assert {name.split("/")[0].split("-")[0] for name in wheel_names} == {"grader", "server", "solmark"}


def test_what_runs_is_in_the_wheel(wheel_names: list[str]) -> None:
    for needed in (
        "grader/candidate/solmark.h",
        "grader/hardware/cpu.toml",
        "grader/contract.schema.json",
        "server/web/templates/base.html",
        "server/db/migrations/env.py",
    ):
        assert needed in wheel_names, needed
