"""`solmark replay`: a transcript against files on this machine."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from grader.assignment import AssignmentError, find, load
from grader.cli import exit_codes
from grader.cli.language import os_reason, pick, say
from grader.languages import FilesError, detect
from grader.plaintext import shorten
from grader.transcript import Transcript, TranscriptError
from grader.transcript import load as load_transcript

_SHOWN = 400


def command(
    transcript: Annotated[Path, typer.Argument(help="A file of `solmark transcript`.")],
    files: Annotated[list[Path], typer.Argument(help="Files of the submission; one alone is the entry.")],
    assignment: Annotated[
        str | None, typer.Option(help="Its folder or name, where the transcript's cannot be found.")
    ] = None,
    sandbox: Annotated[
        str | None, typer.Option(help="bubblewrap, docker or plain; by default the best here.")
    ] = None,
) -> None:
    """Ask FILES what was asked then; exit 0 if all answers are the same, 1 if not, 2 usage."""
    errors = Console(stderr=True)
    try:
        said = load_transcript(transcript.read_text("utf-8"))
        contents = {path.name: path.read_bytes() for path in files}
        adapter, entry = _beside(said, contents, assignment)
    except OSError as error:
        raise _failed(errors, f"{error.filename}: {os_reason(error)}", exit_codes.USAGE) from error
    except (UnicodeDecodeError, TranscriptError) as error:
        raise _failed(errors, f"{transcript}: {error}", exit_codes.USAGE) from error
    except AssignmentError as error:
        raise _failed(errors, str(error), exit_codes.USAGE) from error
    except FilesError as error:
        raise _failed(errors, say(error.text), exit_codes.USAGE) from error
    raise typer.Exit(_play(said, contents, entry, adapter, sandbox, errors))


def _beside(said: Transcript, contents: dict[str, bytes], name: str | None) -> tuple[bytes | None, str]:
    """The assignment's adapter, and which of the files is loaded."""
    found = load(find(name or said.assignment))
    part = found.spec.part(said.part)
    if part is not None and part.file:
        return found.adapter(), part.file
    return found.adapter(), detect(contents, None)[1]


def _play(
    said: Transcript,
    contents: dict[str, bytes],
    entry: str,
    adapter: bytes | None,
    sandbox: str | None,
    errors: Console,
) -> int:
    from grader import replay
    from grader.judge.failure import CandidateFailure
    from grader.sandbox import registry
    from grader.sandbox.base import SandboxError

    console = Console()
    steps = other = 0
    try:
        for step in replay.play(said, contents, entry, adapter, registry.choose(sandbox)):
            steps += 1
            if not step.same:
                other += 1
                if other == 1:
                    _show(step, console)
    except CandidateFailure as failure:
        raise _failed(errors, say(failure.text), exit_codes.NOT_ACCEPTED) from failure
    except TranscriptError as error:
        raise _failed(errors, str(error), exit_codes.USAGE) from error
    except SandboxError as error:
        raise _failed(errors, str(error), exit_codes.INFRASTRUCTURE) from error
    summary = pick(
        f"{said.case}: {steps} question{'' if steps == 1 else 's'}, {other} answered otherwise than then.",
        f"{said.case}：{steps} 个问题，其中 {other} 个回答与当时不同。",
    )
    console.print(summary, markup=False, highlight=False)
    if not said.complete:
        console.print(
            pick("The transcript is the beginning of a longer episode.", "此记录只是较长对话的开头部分。")
        )
    return exit_codes.NOT_ACCEPTED if other else exit_codes.ACCEPTED


def _show(step: Any, console: Console) -> None:
    """The first question that is answered otherwise."""
    rows = (
        (pick(f"question {step.number}", f"第 {step.number} 个问题"), f"{step.method} {step.message!r}"),
        (pick("then", "当时"), repr(step.then)),
        (pick("now", "现在"), repr(step.now)),
    )
    for name, value in rows:
        console.print(f"{name}: {shorten(value, _SHOWN)}", markup=False, highlight=False, soft_wrap=True)


def _failed(errors: Console, message: str, code: int) -> typer.Exit:
    errors.print(message, style="red", markup=False, highlight=False, soft_wrap=True)
    return typer.Exit(code)
