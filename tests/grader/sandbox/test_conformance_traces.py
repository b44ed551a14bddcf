"""Nothing that a program writes outlives its sandbox: caches of builds and kernels are its own."""

from collections.abc import Callable
from pathlib import Path

from grader.contract import Language, Verdict
from grader.judge.build import compile_native
from grader.judge.client import BUILD_ARENA_BYTES, Client
from grader.judge.supervisor import Supervisor
from grader.sandbox.base import MIB, Backend, Limits
from grader.sandbox.trial import Outcome

Run = Callable[..., Outcome]
WIDE = Limits(memory_bytes=2048 * MIB)
EVERYWHERE = """
    import os
    places = set()
    for folder, folders, files in os.walk('/'):
        if folder in ('/proc', '/sys'):
            folders.clear()
            continue
        try:
            name = os.path.join(folder, 'solmark-trace')
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            places.add(folder)
        except OSError:
            pass
        for file in files:
            path = os.path.join(folder, file)
            try:
                if not os.path.islink(path) and not file.startswith('solmark-trace'):
                    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                    places.add(path)
            except OSError:
                pass
    print(*sorted(places))
"""
WRITABLE = {"/tmp", "/dev/shm", "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
"""Two file systems that are a sandbox's own, and devices that keep nothing but what the kernel mixes in."""


def test_only_scratch_can_be_written_and_it_is_empty_at_every_start(run: Run) -> None:
    first = run(EVERYWHERE, limits=WIDE)
    assert {"/tmp", "/dev/shm"} <= set(first.text.split()) <= WRITABLE
    look = "import os\nprint([*os.listdir('/tmp'), *os.listdir('/dev/shm')])"
    assert run(look).text == "[]\n"


def test_scratch_is_memory_of_the_sandbox_alone(run: Run) -> None:
    code = """
        mounts = [line.split() for line in open('/proc/self/mountinfo')]
        for words in mounts:
            if words[4] in ('/tmp', '/dev/shm'):
                print(words[4], words[words.index('-') + 1], 'rw' in words[5].split(','))
    """
    assert sorted(run(code).text.splitlines()) == ["/dev/shm tmpfs True", "/tmp tmpfs True"]


def test_a_build_finds_nothing_of_the_one_before_and_leaves_nothing(backend: Backend) -> None:
    """The sources of one submission, its object files and its product are gone before the next is built."""
    before = set(Path("/tmp").iterdir())

    def build(files: dict[str, bytes]) -> Verdict:
        return compile_native(
            backend, WIDE, files, "solution.cpp", seconds=60.0, cpus=None, supervisor=Supervisor()
        ).verdict

    assert build({"solution.cpp": b"int x;\n", "secret.h": b"#define SECRET 1\n"}) is Verdict.ACCEPTED
    seen = b"""
#if __has_include("secret.h") || __has_include("/tmp/submission/secret.h")
#error found the sources of another submission
#endif
#if __has_include("/tmp/submission.so")
#error found the product of another submission
#endif
int x;
"""
    assert build({"solution.cpp": seen}) is Verdict.ACCEPTED
    left = {
        path for path in set(Path("/tmp").iterdir()) - before if path.name.startswith(("cc", "submission"))
    }
    assert not left


def test_the_cache_of_kernels_lies_in_scratch_and_is_empty_in_the_next_sandbox(backend: Backend) -> None:
    source = b"""
import os

FOLDER = os.environ["TRITON_CACHE_DIR"]
assert FOLDER.startswith("/tmp/"), FOLDER
assert not os.path.exists(FOLDER), os.listdir(FOLDER)
os.makedirs(FOLDER)
open(os.path.join(FOLDER, "kernel"), "w").close()


def solve(x, y):
    pass
"""
    for _ in range(2):
        with Client.start(
            backend, Limits(), arena_bytes=BUILD_ARENA_BYTES, language=Language.TRITON
        ) as client:
            client.load({"solution.py": source}, "solve", "solution.py")
