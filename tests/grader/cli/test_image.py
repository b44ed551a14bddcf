"""`solmark image` builds what an assignment needs, or says why not; `tests/images` build for real."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from grader.cli import image
from grader.sandbox import docker
from grader.sandbox.base import SandboxError
from grader.sandbox.packages import Built

app = typer.Typer()
app.command()(image.command)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.fixture
def needy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An assignment that names a package."""
    monkeypatch.delenv(docker.IMAGE_VARIABLE, raising=False)
    path = folder / "assignment.toml"
    path.write_text(path.read_text("utf-8") + '\n[sandbox]\npackages = ["einops==0.8.1"]\n', "utf-8")
    return str(folder)


def test_an_assignment_without_packages_needs_no_image(folder: Path) -> None:
    result = run(str(folder))
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no packages" in result.stderr


def test_packages_need_an_image_to_be_added_to(needy: str) -> None:
    result = run(needy)
    assert result.exit_code == 3
    assert docker.IMAGE_VARIABLE in result.stderr


def test_the_log_and_the_digest_are_printed(needy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    built = Built("sha256:0123", "Step 1/3\n\x1b[31mSuccessfully installed einops-0.8.1", now=True)
    monkeypatch.setattr(docker.DockerBackend, "build", lambda _, packages: built)
    result = run(needy, "--base", "some-image")
    assert (result.exit_code, result.stdout) == (
        0,
        "Step 1/3\nSuccessfully installed einops-0.8.1\nsha256:0123\n",
    )


def test_a_failed_build_shows_its_log(needy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object, packages: object) -> Built:
        raise SandboxError("the packages cannot be installed\nERROR: No matching distribution")

    monkeypatch.setattr(docker.DockerBackend, "build", fail)
    result = run(needy, "--base", "some-image")
    assert result.exit_code == 3
    assert "No matching distribution" in result.stderr


def test_versions_must_be_exact(folder: Path) -> None:
    path = folder / "assignment.toml"
    for package in ("einops", "einops>=0.8", "einops==0.8.1; true", "-r /etc/passwd", "a==1 b==2"):
        text = path.read_text("utf-8").partition("\n[sandbox]")[0]
        path.write_text(f'{text}\n[sandbox]\npackages = ["{package}"]\n', "utf-8")
        result = run(str(folder))
        assert result.exit_code == 2, package
        assert "packages" in result.stderr
