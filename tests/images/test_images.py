"""Every image is built and does its work: serves, grades, runs students' code."""

import json
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.contract import Language, Report, Verdict
from grader.judge import build as judge_build
from grader.judge.supervisor import Supervisor
from grader.sandbox import packages, trial
from grader.sandbox.base import MIB, Command, Limits, SandboxError
from grader.sandbox.docker import DockerBackend

pytestmark = pytest.mark.timeout(3600)
ROOT = Path(__file__).parents[2]
K04 = "kernels/add-rmsnorm"
COMPILERS = Path(__file__).with_name("compilers")
SOLUTIONS = ROOT / "reference" / "kernels" / "add-rmsnorm"
HEALTH = "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:8000/healthz').status)"
Docker = Callable[..., str]

# What the sandbox in a worker needs. Compose says `privileged`, which is more: a host whose own root lacks a
# capability, as a virtual machine's may, cannot give that.
WORKER = (
    *("--cap-add", "ALL", "--cap-drop", "SYS_RESOURCE", "--cgroupns", "host"),
    *("--security-opt", "seccomp=unconfined", "--security-opt", "systempaths=unconfined"),
    *("--volume", "/sys/fs/cgroup:/sys/fs/cgroup:rw", "--workdir", "/course"),
    *("--volume", f"{ROOT}/assignments:/course/assignments:ro"),
    *("--volume", f"{ROOT}/reference:/course/reference:ro"),
)


@pytest.fixture
def server(images: str, docker: Docker) -> Iterator[str]:
    """A running web server on a database of its own."""
    name = f"solmark-test-{uuid.uuid4().hex[:12]}"
    settings = {
        "SOLMARK_SECRET_KEY": uuid.uuid4().hex * 2,
        "SOLMARK_PUBLIC_URL": "http://127.0.0.1:8000",
        "SOLMARK_DATABASE_URL": "sqlite:////var/lib/solmark/test.sqlite",
        "SOLMARK_BROKER_URL": "redis://127.0.0.1:1/0",
    }
    variables = [word for pair in settings.items() for word in ("--env", "=".join(pair))]
    serve = "solmark-server migrate && exec solmark-server serve --host 0.0.0.0 --port 8000"
    docker(
        "run",
        "--detach",
        "--network",
        "none",
        "--name",
        name,
        *variables,
        f"solmark-server:{images}",
        "sh",
        "-c",
        serve,
    )
    yield name
    subprocess.run(["docker", "rm", "--force", "--volumes", name], capture_output=True, check=False)


def test_the_server_serves_without_torch_and_without_root(server: str, docker: Docker) -> None:
    deadline = time.monotonic() + 180
    while True:
        asked = subprocess.run(
            ["docker", "exec", server, "python", "-c", HEALTH], capture_output=True, text=True, check=False
        )
        if asked.returncode == 0 or time.monotonic() > deadline:
            break
        time.sleep(0.3)
    assert asked.stdout == "200\n", docker("logs", server)[-2000:]
    assert docker("exec", server, "id", "-u").strip() == "10001"
    code = "import importlib.util as u; print([u.find_spec(name) is None for name in ('torch', 'triton')])"
    assert docker("exec", server, "python", "-c", code) == "[True, True]\n"


@pytest.mark.parametrize(
    ("solution", "verdict", "status"),
    [("solution.cpp", Verdict.ACCEPTED, 0), ("wrong/eps_missing.py", Verdict.WRONG_ANSWER, 1)],
)
def test_the_worker_grades(images: str, solution: str, verdict: Verdict, status: int) -> None:
    grade = ["solmark", "grade", K04, f"reference/{K04}/{solution}", "--mode", "test", "--json"]
    done = subprocess.run(
        ["docker", "run", "--rm", "--network", "none", *WORKER, f"solmark-worker:{images}", *grade],
        capture_output=True,
        text=True,
        check=False,
    )
    report = Report.model_validate_json(done.stdout)
    assert (report.verdict, done.returncode) == (verdict, status), (report.message, done.stderr)
    assert report.environment.sandbox == "bubblewrap"
    assert report.environment.freezer != "none"
    assert report.environment.unenforced_limits == ()


def test_the_worker_starts(images: str, docker: Docker) -> None:
    """It needs a broker to do more, and says which settings it lacks."""
    done = subprocess.run(
        ["docker", "run", "--rm", "--network", "none", f"solmark-worker:{images}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "SOLMARK_NODE_TOKEN" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def sandbox(images: str) -> DockerBackend:
    """The Docker backend on the image for a CPU."""
    backend = DockerBackend(f"solmark-sandbox-cpu:{images}")
    assert backend.available() is None, backend.available()
    return backend


LIMITS = Limits(wall_seconds=60, memory_bytes=512 * MIB)


def test_the_sandbox_image_brings_its_own_environment_and_nothing_of_ours(sandbox: DockerBackend) -> None:
    code = """if True:
        import json, os, shutil, sys, numpy, importlib.util
        print(json.dumps({
            "prefix": sys.prefix,
            "grader": importlib.util.find_spec("grader") is None,
            "compiler": shutil.which("g++"),
            "uid": os.getuid(),
            "writable": [path for path in ("/", "/usr", "/etc", "/opt/candidate") if os.access(path, 2)],
        }))
    """
    outcome = trial.run(sandbox, Command([sandbox.python, "-I", "-c", code]), LIMITS)
    found = json.loads(outcome.text or "{}")
    assert found.pop("uid") not in {0, 65534}, outcome.stderr
    assert found == {"prefix": "/opt/candidate", "grader": True, "compiler": "/usr/bin/g++", "writable": []}


@pytest.mark.parametrize(
    ("solution", "verdict"),
    [
        ("solution.py", Verdict.ACCEPTED),
        ("solution_triton.py", Verdict.ACCEPTED),
        ("solution.cpp", Verdict.ACCEPTED),
        ("wrong/eps_is_a_constant.cpp", Verdict.WRONG_ANSWER),
    ],
)
def test_the_sandbox_image_grades(
    sandbox: DockerBackend, monkeypatch: pytest.MonkeyPatch, solution: str, verdict: Verdict
) -> None:
    monkeypatch.setenv("SOLMARK_SANDBOX_IMAGE", sandbox.image)
    report = _grade(SOLUTIONS / solution)
    assert report.verdict is verdict, report.message
    assert report.environment.sandbox == "docker"
    assert report.environment.freezer != "none"


def _grade(solution: Path) -> Report:
    command = ["grade", K04, str(solution), "--mode", "test", "--json", "--sandbox", "docker"]
    done = subprocess.run(
        [Path(sys.executable).with_name("solmark"), *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return Report.model_validate_json(done.stdout)


def test_packages_of_an_assignment_are_added_once(
    sandbox: DockerBackend, monkeypatch: pytest.MonkeyPatch, docker: Docker
) -> None:
    monkeypatch.setenv(packages.NETWORK_VARIABLE, "host")
    wanted = ["tomli-w==1.2.0"]
    name = f"{packages.REPOSITORY}:{packages.key(sandbox.image, wanted)}"
    subprocess.run(["docker", "rmi", "--force", name], capture_output=True, check=False)
    first = sandbox.build(wanted)
    assert "Successfully installed tomli-w" in first.log
    again = sandbox.build(wanted)
    assert (again.digest, again.log, again.now) == (first.digest, first.log, False)
    equipped = sandbox.equipped(wanted)
    code = "import tomli_w; print(tomli_w.dumps({'a': 1}))"
    outcome = trial.run(equipped, Command([equipped.python, "-I", "-c", code]), LIMITS)
    assert outcome.text == "a = 1\n\n", outcome.stderr
    docker("rmi", name)


def test_packages_that_do_not_exist_show_the_log(
    sandbox: DockerBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(packages.NETWORK_VARIABLE, "host")
    with pytest.raises(SandboxError, match=r"(?s)cannot be installed.*numpy==0\.0\.1"):
        sandbox.build(["numpy==0.0.1"])
    with pytest.raises(SandboxError, match="SOLMARK_SANDBOX_IMAGE"):
        DockerBackend().equipped(["no-such-package==1.0"])
    assert DockerBackend().equipped([]).name == "docker"


@pytest.fixture
def cuda(images: str) -> DockerBackend:
    """The Docker backend on the image for GPUs, of which none is needed to compile."""
    backend = DockerBackend(f"solmark-sandbox-cuda:{images}")
    assert backend.available() is None, backend.available()
    return backend


PATIENT = Limits(wall_seconds=600, cpu_seconds=600, memory_bytes=6144 * MIB, disk_bytes=1024 * MIB)
EM_CUDA = 190
"""The machine in the header of an ELF file for NVIDIA's GPUs."""


@pytest.mark.parametrize("program", sorted(COMPILERS.glob("*.py")), ids=lambda path: path.stem)
def test_every_compiler_of_the_cuda_image_makes_code_for_a_gpu(cuda: DockerBackend, program: Path) -> None:
    command = Command(
        [cuda.python, "-I", f"/programs/{program.name}"],
        environment={"HOME": "/tmp"},
        read_only={"/programs": COMPILERS},
    )
    outcome = trial.run(cuda, command, PATIENT)
    assert outcome.exit.code == 0, outcome.stderr[-4000:]
    head = bytes.fromhex(outcome.text)
    assert (head[:4], int.from_bytes(head[18:20], "little")) == (b"\x7fELF", EM_CUDA)


def test_a_cuda_submission_is_built_in_the_cuda_image(cuda: DockerBackend) -> None:
    source = (SOLUTIONS / "h200" / "solution.cu").read_bytes()
    built = judge_build.compile_native(
        cuda,
        PATIENT,
        {"solution.cu": source},
        "solution.cu",
        language=Language.CUDA,
        flags=["-arch=sm_90a"],
        seconds=300.0,
        cpus=None,
        supervisor=Supervisor(),
    )
    assert built.verdict is Verdict.ACCEPTED, (built.message, built.result.log)
    assert built.artifact.startswith(b"\x7fELF")
