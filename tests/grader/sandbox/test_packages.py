"""An assignment's packages: one image for each base and list, named by digest, and its log for the staff."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.sandbox import packages
from grader.sandbox.base import SandboxError
from grader.sandbox.container import Rootfs
from grader.sandbox.docker import DockerBackend
from grader.sandbox.engine import Image

BASE = Rootfs("sha256:base", "/opt/candidate/bin/python", (), {})
WANTED = ["einops==0.8.1", "attrs==25.1.0"]


class Daemon:
    """Builds whatever it is told, or fails; `asked` holds what it was told."""

    def __init__(self, *, fails: bool = False, dies_at: int = 0) -> None:
        self.fails = fails
        self.dies_at = dies_at
        self.images: dict[str, Image] = {}
        self.asked: list[tuple[str, str, str | None]] = []

    def image(self, name: str) -> Image | None:
        return self.images.get(name)

    def build(
        self, dockerfile: str, name: str, network: str | None, labels: Mapping[str, str] | None = None
    ) -> tuple[str, bool]:
        self.asked.append((dockerfile, name, network))
        if len(self.asked) == self.dies_at:
            raise InterruptedError
        if not self.fails:
            self.images[name] = Image(f"sha256:{len(self.asked)}", labels or {}, {})
        return "Successfully installed" if not self.fails else "no matching distribution", self.fails


@pytest.fixture(autouse=True)
def locks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(packages, "_FOLDER", tmp_path)
    monkeypatch.setenv(packages.NETWORK_VARIABLE, "host")


def build(daemon: Daemon, base: Rootfs = BASE, wanted: list[str] = WANTED) -> packages.Built:
    return packages.build(daemon, base, wanted)  # type: ignore[arg-type]


def test_it_is_built_once_upon_the_digest_of_its_base() -> None:
    daemon = Daemon()
    first, again = build(daemon), build(daemon, wanted=WANTED[::-1])
    assert first == packages.Built("sha256:2", "Successfully installed", now=True)
    assert again == packages.Built("sha256:2", "Successfully installed", now=False), "the log stays with it"
    (dockerfile, name, network), (second, *_) = daemon.asked
    assert (second, daemon.images[name].labels) == (
        "FROM sha256:1\n",
        {packages.LOG_LABEL: "Successfully installed"},
    )
    lines = dockerfile.splitlines()
    assert lines[0] == "FROM sha256:base"
    assert lines[-1] == "USER 65534:65534"
    assert "/opt/candidate/bin/python -m pip install" in dockerfile
    assert "--only-binary :all: attrs==25.1.0 einops==0.8.1\n" in dockerfile, "no code of a package runs"
    assert network == "host"


def test_an_image_without_its_log_does_not_count() -> None:
    daemon = Daemon(dies_at=2)
    with pytest.raises(InterruptedError):
        build(daemon)
    assert build(daemon).now
    assert not build(daemon).now


def test_who_builds_it_hands_the_log_on(monkeypatch: pytest.MonkeyPatch) -> None:
    daemon = Daemon()
    daemon.images["base"] = Image("sha256:base", {"solmark.python": "/bin/python"}, {})
    monkeypatch.setattr("grader.sandbox.engine.connect", lambda: daemon)
    logs = [DockerBackend("base").equipped(WANTED).build_log for _ in range(2)]
    assert logs == ["Successfully installed", ""]


def test_another_base_or_list_is_another_image() -> None:
    daemon = Daemon()
    other = Rootfs("sha256:other", BASE.python, (), {})
    found = [build(daemon), build(daemon, base=other), build(daemon, wanted=["einops==0.8.0"])]
    assert len({one.digest for one in found}) == len({name for _, name, _ in daemon.asked}) == 3


def test_what_cannot_be_installed_shows_the_log_and_is_tried_again() -> None:
    daemon = Daemon(fails=True)
    for _ in range(2):
        with pytest.raises(SandboxError, match=r"(?s)cannot be installed.*no matching distribution"):
            build(daemon)
    assert len(daemon.asked) == 2
