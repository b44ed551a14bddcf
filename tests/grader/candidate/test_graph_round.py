"""The native round of Python submissions on a device, with functions of our own in place of CUDA's."""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.candidate import graph_code
from grader.candidate.frames import DONE, GO

NONCE = bytes(range(16))
Launch = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
Wait = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("native") / "round.so"
    command = ["g++", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", str(graph_code.SOURCE), "-o", str(path)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(path))


@pytest.fixture
def pipes() -> Iterator[tuple[int, int, int, int]]:
    commands, answers = os.pipe(), os.pipe()
    yield (*commands, *answers)
    for descriptor in (*commands, *answers):
        try:
            os.close(descriptor)
        except OSError:
            continue


def run(
    library: ctypes.CDLL, pipes: tuple[int, int, int, int], launched: int = 0, waited: int = 0
) -> tuple[int, list[str]]:
    calls: list[str] = []

    def launch(_graph: int, _stream: int) -> int:
        calls.append("launch")
        return launched

    def wait(_stream: int) -> int:
        calls.append("wait")
        return waited

    given = (Launch(launch), Wait(wait))
    outcome = library.solmark_graph_round(pipes[0], pipes[3], *given, ctypes.c_void_p(1), ctypes.c_void_p(2))
    return outcome, calls


def test_done_echoes_the_nonce_after_launch_and_wait(
    library: ctypes.CDLL, pipes: tuple[int, int, int, int]
) -> None:
    os.write(pipes[1], GO + NONCE)
    assert run(library, pipes) == (0, ["launch", "wait"])
    assert os.read(pipes[2], 100) == DONE + NONCE
    assert os.get_blocking(pipes[0])


def test_errors_of_the_driver_come_back_without_done(
    library: ctypes.CDLL, pipes: tuple[int, int, int, int]
) -> None:
    os.write(pipes[1], GO + NONCE)
    assert run(library, pipes, waited=700) == (700, ["launch", "wait"])
    os.write(pipes[1], GO + NONCE)
    assert run(library, pipes, launched=2) == (2, ["launch"])
    os.set_blocking(pipes[2], False)
    with pytest.raises(BlockingIOError):
        os.read(pipes[2], 100)


@pytest.mark.parametrize("frame", [b"", b"\x14\0\0\0nope" + NONCE])
def test_a_closed_channel_ends_the_round(
    library: ctypes.CDLL, pipes: tuple[int, int, int, int], frame: bytes
) -> None:
    os.write(pipes[1], frame)
    os.close(pipes[1])
    assert run(library, pipes) == (-1, [])


def test_each_sandbox_compiles_the_round_in_its_own_folder(tmp_path: Path) -> None:
    libraries = []
    for name in ("one", "other"):
        folder = tmp_path / name
        folder.mkdir()
        libraries.append(graph_code.native_round(folder))
        assert [path.name for path in folder.iterdir()] == [graph_code.LIBRARY]
    one, other = libraries
    assert one is not None
    assert other is not None
    assert ctypes.cast(one.solmark_graph_round, ctypes.c_void_p).value != (
        ctypes.cast(other.solmark_graph_round, ctypes.c_void_p).value
    )
