"""The plain backend runs programs, says what it does not do, and still leaves nothing."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.sandbox import registry, trial
from grader.sandbox.base import Command, Limit, Limits, SandboxError
from grader.sandbox.plain import PlainBackend

Python = Callable[[str], list[str]]


@pytest.fixture
def plain() -> PlainBackend:
    return PlainBackend()


def test_it_says_that_it_isolates_nothing(plain: PlainBackend) -> None:
    assert not plain.isolates
    assert plain.identity == "caller"
    assert {Limit.NETWORK, Limit.DISK, Limit.INODES, Limit.SHM} <= plain.unenforced()


def test_program_gets_what_it_was_given_and_an_empty_folder(
    plain: PlainBackend, python: Python, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_JUDGE", "1")
    (tmp_path / "harness.py").write_text("import sys; print(open(sys.argv[1]).read())")
    (tmp_path / "data").write_text("given")
    argv = [python("")[0], "/inside/harness.py", "/inside/data"]
    outcome = trial.run(plain, Command(argv, read_only={"/inside": tmp_path}), Limits())
    assert outcome.text == "given\n", outcome.stderr
    code = """
        import os
        print(sorted(set(os.environ) - {'PWD', 'OLDPWD'}), os.listdir('.'), os.getcwd() == os.environ['HOME'])
    """
    outcome = trial.run(plain, Command(python(code), environment={"A": "1"}), Limits())
    assert outcome.text == "['A', 'HOME', 'LANG', 'PATH', 'TMPDIR'] [] True\n"


def test_what_is_kept_below_tmp_lies_in_the_folder_and_goes_with_it(
    plain: PlainBackend, python: Python
) -> None:
    code = """
        import os, pathlib
        cache = pathlib.Path(os.environ['CACHE'])
        cache.mkdir()
        print(cache, cache.parent == pathlib.Path.home(), os.environ['OTHER'], os.environ['ROOT'])
    """
    given = {"CACHE": "/tmp/solmark-test-cache", "OTHER": "/tmpfs/x", "ROOT": "/tmp"}
    outcome = trial.run(plain, Command(python(code), environment=given), Limits())
    cache, private, other, root = outcome.text.split()
    assert (private, other) == ("True", "/tmpfs/x"), outcome.stderr
    assert Path(cache).parent == Path(root)
    assert not Path(root).exists()
    assert not Path("/tmp/solmark-test-cache").exists()


def test_ends_are_told_apart(plain: PlainBackend) -> None:
    def end(script: str) -> tuple[int | None, int | None]:
        found = trial.run(plain, Command(["/bin/sh", "-c", script]), Limits()).exit
        return found.code, found.signal

    assert end("exit 139") == (139, None)
    assert end("kill -11 $$") == (None, 11)


def test_nothing_is_left(
    plain: PlainBackend, python: Python, session_cgroups: Callable[[int], set[str]]
) -> None:
    code = """
        import os, time
        print(os.getcwd(), flush=True)
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
        time.sleep(0.2)
        print(len(os.listdir('/proc/self/fd')) - 1)
    """
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    outcome = trial.run(plain, Command(python(code)), Limits())
    folder, count = outcome.text.split()
    assert count == "3"
    assert not Path(folder).exists()
    assert session_cgroups(os.getpid()) == set()
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


def test_memory_processes_and_time_are_limited_where_cgroups_are(plain: PlainBackend, python: Python) -> None:
    assert not plain.unenforced() & {Limit.MEMORY, Limit.PROCESSES, Limit.CPU}
    limits = Limits(memory_bytes=64 << 20, cpu_seconds=0.3)
    assert trial.run(plain, Command(python("bytearray(b'x') * (256 << 20)")), limits).exit.out_of_memory
    busy = trial.run(plain, Command(python("while True: pass")), limits)
    assert busy.stopped_by == Limit.CPU


def test_it_can_be_frozen(plain: PlainBackend, python: Python) -> None:
    with plain.start(Command(python("while True: pass")), Limits()) as process:
        assert process.freezer is not None
        time.sleep(0.1)
        process.freezer.freeze()
        before = process.freezer.cpu_seconds()
        time.sleep(0.02)
        assert process.freezer.cpu_seconds() - before < 0.0002


@pytest.mark.parametrize("name", sorted(registry.BACKENDS))
def test_backends_are_chosen_by_name(name: str) -> None:
    assert registry.choose(name).name == name


def test_the_default_isolates_and_others_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert registry.choose().isolates
    with pytest.raises(SandboxError, match="bubblewrap, docker, plain"):
        registry.choose("tin-foil")
    monkeypatch.setattr("grader.sandbox.bubblewrap.BubblewrapBackend.available", lambda _: "no namespaces")
    with pytest.raises(SandboxError, match=r"no namespaces.*--sandbox plain"):
        registry.choose()


def test_what_isolates_nothing_is_refused_for_the_code_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.BACKENDS, "paper", PlainBackend)
    for name in ("plain", "paper"):
        with pytest.raises(SandboxError, match="isolates nothing"):
            registry.choose(name, for_others=True)
    assert registry.choose(for_others=True).isolates
