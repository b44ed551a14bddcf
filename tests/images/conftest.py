"""The images of docker/, built for real on a base that is made of Debian's packages."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TAG = "test"


@pytest.fixture(scope="session")
def images() -> str:
    """All images, under the tag that this returns; what is built already costs seconds."""
    done = subprocess.run([ROOT / "docker" / "images.sh", TAG], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return TAG


@pytest.fixture(scope="session")
def docker() -> Callable[..., str]:
    """docker(*arguments) -> stdout of the command, which must succeed."""

    def run(*arguments: str) -> str:
        done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{arguments}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout

    return run
