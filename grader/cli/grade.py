"""`solmark grade`: the same grading as on a node, on this machine."""

import errno
import hashlib
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from grader import upload
from grader.assignment import Assignment, AssignmentError, available, find, load
from grader.cli import exit_codes, report_view
from grader.cli.language import current, os_reason, pick, say
from grader.contract import (
    HARDWARE_PATTERN,
    MAX_FILE_BYTES,
    MAX_FILES,
    Event,
    JobSpec,
    Language,
    Mode,
    Report,
    SourceFile,
    Target,
)
from grader.hardware.profile import DEFAULT_HARDWARE
from grader.languages import FilesError
from grader.messages import text
from grader.plaintext import clean

LOCAL_LEASE_SECONDS = 3600.0
MOST_BYTES_READ = 64 * MAX_FILE_BYTES


def command(
    assignment: Annotated[str, typer.Argument(help="Name such as kernels/add-rmsnorm, or a folder.")],
    files: Annotated[list[Path], typer.Argument(help="Files of the submission; one alone is the entry.")],
    mode: Annotated[
        Mode,
        typer.Option(
            help="test: correctness; grade: times and score too; profile, memcheck: what tools see."
        ),
    ] = Mode.GRADE,
    language: Annotated[Language | None, typer.Option(help="Overrides what the suffix says.")] = None,
    hardware: Annotated[str, typer.Option(help="Hardware class to be scored against.")] = DEFAULT_HARDWARE,
    sandbox: Annotated[
        str | None, typer.Option(help="bubblewrap, docker or plain; by default the best here.")
    ] = None,
    seed: Annotated[str | None, typer.Option(help="Session seed (hexadecimal), to replay a grading.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the Report as JSON and nothing else.")
    ] = False,
) -> None:
    """Grade FILES against ASSIGNMENT; exit 0 accepted, 1 not accepted, 2 usage, 3 infrastructure."""
    errors = Console(stderr=True)
    if not re.fullmatch(HARDWARE_PATTERN, hardware):
        raise _usage(
            errors, f"--hardware {hardware[:80]!r}: " + pick("no hardware class", "没有这个硬件类别")
        )
    contents = _unpack(_read(files, errors), errors)
    folder = _assignment(assignment, errors)
    seed_bytes = _seed(seed, errors)
    job = _job(folder, contents, mode, language, hardware)
    try:
        with _stdout_apart():
            report = _grade(job, folder, contents, sandbox, seed_bytes, None if as_json else errors)
    except KeyboardInterrupt:
        errors.print(pick("Stopped.", "已停止。"))
        raise typer.Exit(exit_codes.INTERRUPTED) from None
    _print(report, errors, as_json=as_json)
    raise typer.Exit(exit_codes.of(report.verdict))


@contextmanager
def _stdout_apart() -> Iterator[None]:
    """An assignment's code may print, or write to the descriptor itself: stdout is the Report's alone."""
    with redirect_stdout(sys.stderr):
        try:
            kept = os.dup(1)
        except OSError:  # It is closed: nothing that is written there can get into the Report.
            yield
            return
        try:
            with suppress(OSError):
                os.dup2(2, 1)
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)


def _print(report: Report, errors: Console, *, as_json: bool) -> None:
    """Raises typer.Exit where it cannot be written: the exit code must then neither praise nor blame."""
    try:
        if as_json:
            typer.echo(report.model_dump_json(indent=2).encode())  # UTF-8, whatever the terminal's encoding.
        else:
            report_view.show(report, Console(), current())
    except (OSError, SystemExit) as error:  # rich ends the program where its reader has gone.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # What is left fails no second time.
        reason = os_reason(error) if isinstance(error, OSError) else os.strerror(errno.EPIPE)
        title = pick("the Report could not be written", "无法写出评测报告")
        with suppress(OSError, SystemExit):
            errors.print(f"{title}: {reason}", style="red", markup=False, highlight=False)
        raise typer.Exit(exit_codes.INFRASTRUCTURE) from error


def _usage(errors: Console, message: str) -> typer.Exit:
    errors.print(clean(message), style="red", markup=False, highlight=False)
    return typer.Exit(exit_codes.USAGE)


def _read(files: list[Path], errors: Console) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    for path in files:
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                raise _usage(errors, f"{path}: " + pick("not a regular file", "不是普通文件"))
            # The grader itself refuses what is too large, with its own message and the true size.
            if status.st_size > MOST_BYTES_READ:
                mib = status.st_size >> 20
                raise _usage(errors, f"{path}: {mib} MiB; " + pick("hand in source code", "请提交源代码"))
            data = path.read_bytes()
        except OSError as error:
            raise _usage(errors, f"{path}: " + os_reason(error)) from error
        if not _encodable(path.name):
            raise _usage(errors, f"{path}: " + pick("the name is not UTF-8", "文件名不是 UTF-8 编码"))
        if path.name in contents:
            raise _usage(errors, f"{path.name}: " + pick("given twice", "出现了两次"))
        contents[path.name] = data
    return contents


def _unpack(contents: dict[str, bytes], errors: Console) -> dict[str, bytes]:
    """The files of archives in place of these; other rules are the grader's, whose verdict says them."""
    try:
        unpacked = upload.expand(contents)
    except FilesError as error:
        raise _usage(errors, say(error.text)) from error
    if len(unpacked) > MAX_FILES:
        raise _usage(errors, pick(f"At most {MAX_FILES} files are taken.", f"最多接受 {MAX_FILES} 个文件。"))
    return unpacked


def _encodable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _assignment(name: str, errors: Console) -> Assignment:
    try:
        folder = find(name)
    except OSError as error:
        raise _usage(errors, f"{name[:80]}: " + os_reason(error)) from error
    except AssignmentError as error:
        known = ", ".join(sorted(available()))
        chinese = f"{name}：找不到这个作业。现有：{known or '无'}"
        raise _usage(errors, pick(str(error), chinese)) from error
    try:
        return load(folder)
    except AssignmentError as error:
        # What is wrong with a folder is its author's to read: in English, with the keys' names.
        title = pick("", f"{name}：作业文件夹有误，详情如下。\n")
        raise _usage(errors, title + str(error)) from error


def _seed(text: str | None, errors: Console) -> bytes:
    if text is None:
        return secrets.token_bytes(16)
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        message = pick("--seed: hexadecimal digits are needed", "--seed：需要十六进制数字")
        raise _usage(errors, message) from error


def _job(
    assignment: Assignment, contents: dict[str, bytes], mode: Mode, language: Language | None, hardware: str
) -> JobSpec:
    return JobSpec(
        submission="local",
        attempt=1,
        token=secrets.token_hex(16),
        mode=mode,
        assignment=assignment.id,
        bundle=assignment.digest,
        files=tuple(
            # The size is checked from the content by the session, whose message teaches.
            SourceFile(
                name=name[:128], sha256=hashlib.sha256(data).hexdigest(), size=min(len(data), MAX_FILE_BYTES)
            )
            for name, data in contents.items()
        ),
        language=language,
        target=Target(hardware=hardware),
        deadline=time.time() + LOCAL_LEASE_SECONDS,
    )


def _grade(
    job: JobSpec,
    assignment: Assignment,
    contents: dict[str, bytes],
    sandbox: str | None,
    seed: bytes,
    console: Console | None,
) -> Report:
    from grader import session
    from grader.hardware.profile import CalibrationError, HardwareError
    from grader.hardware.profile import load as load_hardware
    from grader.sandbox import registry
    from grader.sandbox.base import SandboxError

    errors = Console(stderr=True)
    if sandbox is not None and sandbox not in registry.BACKENDS:
        names = ", ".join(registry.BACKENDS)
        raise _usage(errors, f"--sandbox {sandbox}: " + pick(f"there are {names}", f"可选：{names}"))
    try:
        backend = registry.choose(sandbox)
        profile = load_hardware(job.target.hardware)
    except SandboxError as error:
        errors.print(str(error), style="red", markup=False, highlight=False)
        raise typer.Exit(exit_codes.INFRASTRUCTURE) from error
    except CalibrationError as error:
        title = pick("", "本机的校准数据无法使用：请删除该文件，并重新运行 solmark calibrate --force。\n")
        errors.print(clean(title + str(error)), style="red", markup=False, highlight=False)
        raise typer.Exit(exit_codes.INFRASTRUCTURE) from error
    except HardwareError as error:
        title = pick("", f"--hardware {job.target.hardware}：无法使用这个硬件类别。\n")
        raise _usage(errors, title + str(error)) from error
    if job.mode is Mode.MEMCHECK and profile.kind == "cpu":
        raise _usage(errors, "--mode memcheck: " + say(text("memcheck_no_device")))
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=console is None,
        auto_refresh=False,  # A thread that draws would share the judge's core while it times.
    ) as progress:
        bar = progress.add_task(pick("preparing", "准备中"), total=None)

        def emit(event: Event) -> None:
            description = " ".join(
                filter(
                    None,
                    (report_view.phase_name(event.phase.value), event.case, event.text.split("\n")[0][:60]),
                )
            )
            progress.update(
                bar, description=description, completed=event.done or 0, total=event.total, refresh=True
            )

        return session.grade(
            job,
            assignment,
            contents,
            backend=backend,
            hardware=profile,
            emit=emit,
            seed=seed,
            node=os.uname().nodename,
        )
