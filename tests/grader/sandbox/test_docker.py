"""What only the Docker backend has: a container's configuration, its image, the handover, the profile."""

import importlib
import io
import json
import os
import signal
import socket
import tarfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from grader.sandbox import cgroup, container, engine, handover, hierarchy, names, profile, seccomp, trial
from grader.sandbox.base import MIB, Command, Limits, SandboxError
from grader.sandbox.container import Rootfs, Session
from grader.sandbox.docker import DockerBackend
from grader.sandbox.handover import Handover
from grader.sandbox.mounts import Mount

ROOT = Path(__file__).parents[3]
LIMITS = Limits(memory_bytes=256 * MIB, processes=20, disk_bytes=8 * MIB, shm_bytes=4 * MIB, inodes=64)
GPU = "GPU-00000000-1111-2222-3333-444444444444"


@pytest.fixture(scope="module")
def daemon() -> Iterator[Any]:
    """The SDK's own client: what the daemon itself says of a container."""
    client = importlib.import_module("docker").APIClient(version="auto")
    yield client
    client.close()


@pytest.fixture(scope="module")
def backend() -> DockerBackend:
    return DockerBackend()


def test_the_daemon_confirms_what_a_container_may(daemon: Any, backend: DockerBackend) -> None:
    cpu = min(os.sched_getaffinity(0))
    command = Command(["/bin/sleep", "60"], cpus=frozenset({cpu}))
    with backend.start(command, LIMITS):
        (mine,) = [
            found["Id"]
            for found in daemon.containers(filters={"label": container.LABEL})
            if f"-{os.getpid()}-" in found["Labels"][container.LABEL]
        ]
        found = daemon.inspect_container(mine)
    host = found["HostConfig"]
    assert found["Image"] == backend.image
    assert found["Config"]["User"].split(":")[0] not in {"", "0", "root"}
    assert (host["Memory"], host["MemorySwap"]) == (256 * MIB, 256 * MIB)
    assert (host["PidsLimit"], host["CpusetCpus"]) == (21, str(cpu))
    assert (host["ReadonlyRootfs"], host["Privileged"]) == (True, False)
    assert (host["CapDrop"], host["CapAdd"]) == (["ALL"], None)
    assert (host["NetworkMode"], host["IpcMode"], host["PidMode"]) == ("none", "private", "")
    assert host["LogConfig"]["Config"] == {"max-size": "64k", "max-file": "1"}
    assert "no-new-privileges" in host["SecurityOpt"]
    assert found["NetworkSettings"]["Networks"].keys() == {"none"}
    assert all(not mount["RW"] for mount in found["Mounts"]), found["Mounts"]
    assert "size=8388608" in host["Tmpfs"]["/tmp"]
    assert "nr_inodes=65" in host["Tmpfs"]["/tmp"]
    assert not any("docker.sock" in mount["Source"] for mount in found["Mounts"])


@pytest.mark.parametrize("network", get_args(seccomp.Network))
def test_the_committed_profile_is_the_filter_of_bubblewrap(network: seccomp.Network) -> None:
    committed = (ROOT / "docker" / "seccomp" / f"{network}.json").read_text()
    assert committed == profile.text(network), "python -m grader.sandbox.profile docker/seccomp"
    document = json.loads(committed)
    assert document["defaultAction"] == "SCMP_ACT_ALLOW"
    listed = [
        (
            name,
            entry["action"],
            entry.get("errnoRet"),
            [tuple(each.values()) for each in entry.get("args", [])],
        )
        for entry in document["syscalls"]
        for name in entry["names"]
    ]
    operators = {1: "SCMP_CMP_NE", 4: "SCMP_CMP_EQ", 6: "SCMP_CMP_GT", 7: "SCMP_CMP_MASKED_EQ"}
    expected = [
        (
            rule.call,
            "SCMP_ACT_KILL_PROCESS" if rule.action == 0x80000000 else "SCMP_ACT_ERRNO",
            None if rule.action == 0x80000000 else rule.action - 0x00050000,
            [
                (index, first, second, operators[operator])
                for index, operator, first, second in rule.comparisons
            ],
        )
        for rule in seccomp.rules(network)
    ]
    assert sorted(listed, key=repr) == sorted(expected, key=repr)


def _configuration(command: Command, mounted: Sequence[Mount] = ()) -> dict[str, Any]:
    rootfs = Rootfs("sha256:0", "/usr/bin/python3", mounted, {})
    session = Session("solmark-1-2-3-4", 61000, Path("/run/solmark/docker/solmark-1-2-3-4"))
    return container.configuration(rootfs, session, command, LIMITS)


def test_a_gpu_is_named_by_its_uuid_to_the_nvidia_runtime() -> None:
    """The container's configuration alone: there is no GPU where this runs."""
    devices = ("/dev/nvidia0", "/dev/nvidiactl")
    found = _configuration(Command(["true"], devices=devices, gpus=(GPU,)))
    assert found["HostConfig"]["Runtime"] == "nvidia"
    assert f"NVIDIA_VISIBLE_DEVICES={GPU}" in found["Env"]
    assert "NVIDIA_DRIVER_CAPABILITIES=compute,utility" in found["Env"]
    assert not found["HostConfig"].get("Devices")
    assert found["HostConfig"]["CapDrop"] == ["ALL"]
    without = _configuration(Command(["true"]))
    assert "Runtime" not in without["HostConfig"]
    assert without["Env"] == []
    host = [Mount("/usr", "bind", "/usr")]
    named = _configuration(Command(["true"], devices=devices, gpus=(GPU,)), host)
    assert "Runtime" not in named["HostConfig"]
    assert [device["PathOnHost"] for device in named["HostConfig"]["Devices"]] == list(devices)
    for path in ("/etc/shadow", "/dev/../etc/shadow"):
        with pytest.raises(SandboxError, match="no device file"):
            _configuration(Command(["true"], devices=[path]))


def test_nobody_else_is_given_the_program(line_of: Callable[[Any], str]) -> None:
    """Whoever connects must be the container's first process, by pid and by user."""
    name = names.new()
    for uid in (os.getuid(), 61000):
        opened = Handover.open(name, uid, container.stubs(uid))
        first = os.pidfd_open(1)
        try:
            with socket.socket(socket.AF_UNIX) as stranger:
                stranger.connect(str(opened.folder / "socket"))
                with pytest.raises(SandboxError, match=f"process {os.getpid()} of user {os.getuid()}"):
                    opened.send({"argv": []}, [0], first, time.monotonic() + 5)
        finally:
            os.close(first)
            opened.close()
        assert not opened.folder.exists()


def test_the_socket_is_gone_before_the_program_starts(backend: DockerBackend) -> None:
    code = """if True:
        import os, socket
        print(sorted(os.listdir("/solmark/session")))
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect("/solmark/session/socket")
                print("connected")
            except FileNotFoundError:
                print("gone")
        try:
            open("/solmark/session/new", "w")
        except OSError as error:
            print(error.strerror)
    """
    outcome = trial.run(backend, Command([backend.python, "-I", "-S", "-c", code]), LIMITS)
    files = sorted(Path(stub.path).name for stub in container.stubs(1))
    assert outcome.text == f"{files}\ngone\nRead-only file system\n", outcome.stderr


def test_a_container_that_is_killed_from_outside_is_an_end_like_any_other(
    backend: DockerBackend, remains: Callable[[int], set[str]], line_of: Callable[[Any], str]
) -> None:
    code = "import os, time; print('ready', flush=True); time.sleep(60)"
    with backend.start(Command([backend.python, "-I", "-S", "-c", code]), LIMITS) as process:
        line_of(process)
        status = Path(f"/proc/{process.host_pid}/status").read_text()
        parent = int(status.partition("\nPPid:\t")[2].partition("\n")[0])
        os.kill(parent, signal.SIGKILL)
        end = process.wait(10)
    assert end is not None
    assert (end.code, end.signal) == (None, signal.SIGKILL)
    assert remains(os.getpid()) == set()
    assert not Path(f"/proc/{process.host_pid}").exists()


def test_the_first_process_outlives_want_of_memory(backend: DockerBackend) -> None:
    """It is the last that the kernel would take, so that the judge can still be told."""
    take = "held = []\nwhile True: held.append(bytearray(b'x') * (1 << 20))"
    code = f"import os\nfor _ in range(4): os.fork()\n{take}"
    limits = replace(LIMITS, memory_bytes=64 * MIB)
    end = trial.run(backend, Command([backend.python, "-I", "-S", "-c", code]), limits).exit
    assert end.out_of_memory


def test_images_must_be_here_and_name_their_interpreter(
    daemon: Any, monkeypatch: pytest.MonkeyPatch, backend: DockerBackend
) -> None:
    monkeypatch.setenv("SOLMARK_SANDBOX_IMAGE", "solmark-no-such-image")
    assert "solmark-no-such-image" in str(DockerBackend().available())
    monkeypatch.setenv("SOLMARK_SANDBOX_IMAGE", backend.image)
    assert "LABEL solmark.python" in str(DockerBackend().available())


def test_an_image_with_a_folder_on_the_hosts_disk_is_refused(
    daemon: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = ["VOLUME /kept", "LABEL solmark.python=/usr/bin/python3"]
    empty = io.BytesIO()
    with tarfile.open(fileobj=empty, mode="w"):
        pass
    name = f"solmark-test-volume-{os.getpid()}"
    daemon.import_image_from_data(empty.getvalue(), repository=name, tag="1", changes=changes)
    try:
        monkeypatch.setenv("SOLMARK_SANDBOX_IMAGE", f"{name}:1")
        assert "has volumes (/kept)" in str(DockerBackend().available())
    finally:
        daemon.remove_image(f"{name}:1", force=True)


def test_without_a_daemon_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from grader.sandbox import engine

    engine.disconnect()
    try:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
        assert "start dockerd" in str(DockerBackend().available())
        monkeypatch.setenv("DOCKER_HOST", "tcp://elsewhere:2375")
        assert "its own machine" in str(DockerBackend().available())
    finally:
        engine.disconnect()


def test_no_thread_closes_the_connections_of_another() -> None:
    """The package closes those of the address that was asked least recently, whoever waits there."""
    adapter = engine.connect()._client.get_adapter("http+docker://localhost")
    mine = adapter.get_connection("http+docker://localhost/mine")
    for number in range(100):
        adapter.get_connection(f"http+docker://localhost/{number}")
    assert mine.pool is not None


def test_between_calls_no_connection_stays_open() -> None:
    engine.connect().info()
    before = len(list(Path("/proc/self/fd").iterdir()))
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda _: engine.connect().info(), range(24)))
    # What an earlier test left to the collector may be closed meanwhile.
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_folders_of_a_dead_session_are_removed(backend: DockerBackend) -> None:
    """A judge may die between making its folder and its container."""
    from grader.sandbox import reaper

    namespace = Path("/proc/self/ns/pid").stat().st_ino
    stale = handover.FOLDER / f"solmark-{namespace}-{os.getpid()}-1-1"
    foreign = handover.FOLDER / f"solmark-{namespace + 1}-{os.getpid()}-1-1"
    for folder in (stale, foreign):
        folder.mkdir(parents=True)
    try:
        reaper.reap()
        assert (stale.exists(), foreign.exists()) == (False, True)
    finally:
        foreign.rmdir()


def test_the_first_generation_of_cgroups_suffices(
    backend: DockerBackend,
    monkeypatch: pytest.MonkeyPatch,
    line_of: Callable[[Any], str],
    remains: Callable[[int], set[str]],
) -> None:
    """Where v2 is not mounted at all: frozen, killed while it forks, and counted through v1 alone."""

    def first(pid: int, name: str) -> cgroup.Group:
        folders = {kind: path for kind, path in hierarchy.folders(pid).items() if kind and name in path}
        return cgroup.Group(folders, cgroup._freezer(folders))

    monkeypatch.setattr(cgroup, "of", first)
    code = """if True:
        import os
        print('ready', flush=True)
        while True:
            try:
                if os.fork() == 0:
                    os.setsid()
            except OSError:
                pass
    """
    with backend.start(Command([backend.python, "-I", "-S", "-c", code]), LIMITS) as process:
        line_of(process)
        held = process.freezer
        assert held is not None
        assert held.kind == "cgroup1"
        held.freeze(5.0)
        before = held.cpu_seconds()
        time.sleep(0.02)
        assert held.cpu_seconds() - before < 0.0002
        held.thaw()
        deadline = time.monotonic() + 30
        while process.usage().process_limit_hits == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        end = process.kill()
    assert end.signal == signal.SIGKILL
    assert end.usage.process_limit_hits > 0
    assert end.usage.cpu_seconds > before > 0
    assert remains(os.getpid()) == set()
