"""Every backend: what a sandboxed program can see and touch: only what is on the allow-list."""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.sandbox import mounts, uids
from grader.sandbox.base import Backend, Limits, SandboxError
from grader.sandbox.trial import Outcome

Run = Callable[..., Outcome]


def test_files_of_the_host_are_out_of_reach(run: Run, tmp_path: Path) -> None:
    checkout = mounts.checkout()
    assert checkout is not None
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    paths = [
        *("/etc/shadow", "/etc/passwd-", "/root/.bashrc", "/run", "/var", "/home", "/boot", "/sys/kernel"),
        *(
            str(path)
            for path in (secret, checkout / "pyproject.toml", checkout / "grader", checkout / ".git")
        ),
    ]
    code = f"import os; print([path for path in {paths} if os.path.lexists(path)])"
    assert run(code).text == "[]\n"


def test_root_and_system_are_read_only(run: Run) -> None:
    code = """
        import os
        for path in '/ /usr /etc /dev /usr/bin /proc /proc/sys/kernel /sys/devices/system/cpu'.split():
            try:
                open(os.path.join(path, 'new'), 'w')
            except OSError:
                continue
            print(path)
    """
    assert run(code).text == ""


def test_stubs_stand_in_for_the_user_database(run: Run, backend: Backend) -> None:
    code = (
        "import getpass, os, pwd; print(getpass.getuser(), len(pwd.getpwall()), sorted(os.listdir('/etc')))"
    )
    found = {"alternatives", "group", "hosts", "ld.so.cache", "nsswitch.conf", "passwd"}
    if backend.name == "docker":  # which puts these there in any case: ours, and a link to /proc
        found |= {"hostname", "mtab", "resolv.conf"}
        assert (
            run("print(open('/etc/hostname').read(), open('/etc/resolv.conf').read())").text == "sandbox\n \n"
        )
    assert run(code).text.strip() == f"candidate 2 {sorted(found)}"


def test_devices_are_the_harmless_ones(run: Run, backend: Backend) -> None:
    names = {"fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero"}
    code = "import os; print(sorted(os.listdir('/dev')))"
    if backend.name == "docker":  # there is no terminal, and nothing can be made in the folders
        names |= {"mqueue", "ptmx", "pts", "tty"}
        code += """
for path in ("/dev/mqueue/new", "/dev/pts/new", "/dev/ptmx", "/dev/tty"):
    try:
        open(path, "w")
        print("opened", path)
    except OSError:
        pass"""
    assert run(code).text.strip() == str(sorted(names))


def test_standard_streams_can_be_opened_by_name(run: Run) -> None:
    outcome = run(["/bin/sh", "-c", "echo out > /dev/stdout; echo err > /dev/stderr; cat < /dev/stdin"])
    assert (outcome.stdout, outcome.stderr, outcome.exit.code) == (b"out\n", b"err\n", 0)


def test_scratch_is_private_and_does_not_run_over(run: Run, tmp_path: Path) -> None:
    code = """
        import os
        for folder in ('/tmp', '/dev/shm'):
            print(os.listdir(folder), oct(os.stat(folder).st_mode))
            open(folder + '/left-behind', 'w').write('x')
    """
    expected = "[] 0o41777\n[] 0o41777\n"
    assert run(code).text == expected
    assert run(code).text == expected
    assert not Path("/dev/shm/left-behind").exists()


def test_other_processes_are_invisible(run: Run) -> None:
    code = "import os; print(sorted(int(name) for name in os.listdir('/proc') if name.isdigit()))"
    first, own = json.loads(run(code).text)
    assert first == 1
    assert own > 1


def test_command_line_of_init_names_no_host_path(run: Run, backend: Backend) -> None:
    words = run("print(open('/proc/1/cmdline').read())").text.split("\0")
    if backend.name == "docker":
        assert words == [
            backend.python,
            "-I",
            "-S",
            "-B",
            "/solmark/init.py",
            "/solmark/session/socket",
            "\n",
        ]
        return
    before = words[: words.index("--")]
    assert before[0] == "bwrap"
    assert not any(word.startswith("/") for word in before)


def test_init_of_the_namespace_cannot_be_touched(run: Run) -> None:
    code = """
        import ctypes, os, resource, time
        libc = ctypes.CDLL(None, use_errno=True)
        for number in set(range(1, 65)) - {32, 33}:
            try:
                os.kill(1, number)
            except PermissionError:
                pass
        for kind in range(16):
            try:
                resource.prlimit(1, kind, (1, 1))
                print('limited', kind)
            except PermissionError:
                pass
        time.sleep(0.1)
        for attach in (16, 0x4206):
            print(libc.ptrace(attach, 1, 0, 0), os.strerror(ctypes.get_errno()))
        for name in ('mem', 'environ', 'maps', 'fd', 'root', 'cwd'):
            try:
                path = '/proc/1/' + name
                os.stat(path + '/.') if name in ('root', 'cwd', 'fd') else open(path).read(1)
                print(name)
            except PermissionError:
                pass
    """
    outcome = run(code)
    assert outcome.text == "-1 Operation not permitted\n" * 2, outcome.stderr
    assert outcome.exit.code == 0, "it dies with the first process of its namespace"


@pytest.mark.parametrize("network", ["none", "loopback"])
def test_hosts_network_is_unreachable(run: Run, network: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as local:
        local.bind("\0solmark-test-abstract")
        local.listen()
        port = tcp.getsockname()[1]
        code = f"""
            import socket
            for family, address in [
                (socket.AF_INET, ('127.0.0.1', {port})),
                (socket.AF_INET, ('169.254.169.254', 80)),
                (socket.AF_INET6, ('::1', {port})),
                (socket.AF_UNIX, '\\0solmark-test-abstract'),
            ]:
                try:
                    with socket.socket(family) as s:
                        s.settimeout(3)
                        s.connect(address)
                    print('connected', address)
                except OSError:
                    pass
            try:
                socket.getaddrinfo('example.org', 80)
                print('resolved')
            except OSError:
                pass
        """
        outcome = run(code, limits=Limits(network=network))  # type: ignore[arg-type]
    assert (outcome.text, outcome.exit.code) == ("", 0), outcome.stderr


def test_loopback_reaches_itself_and_none_has_no_network(run: Run) -> None:
    code = """
        import socket
        with socket.create_server(('127.0.0.1', 0)) as server:
            with socket.create_connection(server.getsockname()):
                print('connected', socket.getaddrinfo('localhost', 1, socket.AF_INET)[0][4][0])
    """
    assert run(code, limits=Limits(network="loopback")).text == "connected 127.0.0.1\n"
    refused = run(code, limits=Limits(network="none"))
    assert b"Address family not supported" in refused.stderr


def test_the_checkout_is_never_shown_but_a_part_of_it_may_be(run: Run) -> None:
    checkout = mounts.checkout()
    assert checkout is not None
    shown = {"/shown": checkout / "grader" / "sandbox"}
    assert "base.py" in run("import os; print(os.listdir('/shown'))", read_only=shown).text
    for host in (checkout, checkout.parent, Path("/")):
        with pytest.raises(SandboxError, match="may not be shown"):
            run(["/bin/true"], read_only={"/shown": host})


def test_files_of_other_users_are_unreadable_even_where_mounted(run: Run, tmp_path: Path) -> None:
    for name, owner in (("roots", 0), ("other-sessions", uids.FIRST + uids.COUNT - 1)):
        path = tmp_path / name
        path.write_text("secret")
        path.chmod(0o600)
        os.chown(path, owner, owner)
    (tmp_path / "anyones").write_text("public")
    tmp_path.chmod(0o755)
    code = """
        import os
        for name in sorted(os.listdir('/given')):
            try:
                print(name, open('/given/' + name).read())
            except PermissionError:
                pass
    """
    assert run(code, read_only={"/given": tmp_path}).text == "anyones public\n"
