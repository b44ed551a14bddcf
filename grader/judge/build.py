"""The build phase: C++ and CUDA are compiled in a sandbox of its own, before the code ever runs.

The product comes back as bytes that the judge hands to later sandboxes and never loads itself.
"""

import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grader.contract import BuildResult, Language, Text, Verdict
from grader.judge import compilers
from grader.judge.client import BUILD_ARENA_BYTES, Client
from grader.judge.failure import CandidateFailure
from grader.judge.supervisor import Supervisor
from grader.messages import text
from grader.plaintext import clean
from grader.sandbox.base import MIB, Backend, Limits

LOG_CHARS = 65536
MEMORY_BYTES = 2048 * MIB


@dataclass(frozen=True)
class Build:
    """`verdict` is accepted, or says with `message` why there is no `artifact`."""

    result: BuildResult
    verdict: Verdict
    message: Text | None = None
    artifact: bytes = b""


def compile_native(
    backend: Backend,
    limits: Limits,
    files: Mapping[str, bytes],
    entry_name: str,
    *,
    language: Language = Language.CPP,
    flags: Sequence[str] = (),
    seconds: float,
    cpus: frozenset[int] | None,
    supervisor: Supervisor,
) -> Build:
    """Compile a C++ or CUDA submission, with `flags` beside the fixed ones. Raises SandboxError."""
    begin = time.monotonic()
    command = compilers.command(entry_name, flags)
    own = replace(limits, wall_seconds=seconds + 10, cpu_seconds=2 * seconds, memory_bytes=MEMORY_BYTES)
    with Client.start(backend, own, arena_bytes=BUILD_ARENA_BYTES, language=language, cpus=cpus) as client:
        supervisor.attach(client)
        try:
            outcome = client.build(files, entry_name, seconds, flags)
        except CandidateFailure as failure:
            log = "".join(client.output())
            return Build(_result(language, command, log, begin), failure.verdict, failure.text)
        finally:
            supervisor.detach(client)
    result = _result(language, command, outcome.log.decode("utf-8", "replace"), begin)
    if outcome.status == 0 and outcome.artifact:
        return Build(result, Verdict.ACCEPTED, artifact=outcome.artifact)
    return Build(result, Verdict.BUILD_ERROR, _refusal(outcome.status))


def _result(language: Language, command: str, log: str, begin: float) -> BuildResult:
    return BuildResult(
        language=language,
        command=command,
        log=clean(log, LOG_CHARS),
        seconds=time.monotonic() - begin,
    )


def _refusal(status: int) -> Text:
    if status >= 0:
        return text("compile_error", status=status)
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return text("compiler_killed", signal=name)
