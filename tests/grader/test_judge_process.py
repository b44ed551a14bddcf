"""One grading in a process of its own, as a worker starts it: lines on stdout, nothing left on SIGTERM."""

import base64
import hashlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from grader.assignment import load
from grader.contract import Event, JobSpec, Mode, Report, SourceFile, Target, Verdict, read
from grader.node import judge
from grader.node.settings import AHEAD

NAME = "solution.cpp"
SOURCE = """
#include <cstdio>
#include <unistd.h>
#include "solmark.h"
extern "C" int solve(const solmark_tensor *t, int, const solmark_scalar *, int, void *) {
    std::puts("{\\"report\\": 1}");
    BODY
    for (int64_t i = 0; i < t[0].shape[0] * t[0].shape[1]; ++i)
        ((float *)t[1].data)[i] = 2 * ((const float *)t[0].data)[i];
    return 0;
}
"""
COMMAND = [sys.executable, "-m", "grader.judge_process"]


def _request(folder: Path, body: str = "") -> bytes:
    data = SOURCE.replace("BODY", body).encode()
    assignment = load(folder)
    job = JobSpec(
        submission="s1",
        attempt=3,
        token="t" * 32,
        mode=Mode.TEST,
        assignment=assignment.id,
        bundle=assignment.digest,
        files=(SourceFile(name=NAME, sha256=hashlib.sha256(data).hexdigest(), size=len(data)),),
        target=Target(hardware="cpu"),
        deadline=time.time() + 600,
    )
    document = {
        "job": job.model_dump(mode="json"),
        "bundle": str(folder),
        "files": {NAME: base64.b64encode(data).decode()},
        "backend": None,
        "node": "n1",
    }
    return json.dumps(document).encode()


def test_events_and_the_report_come_as_lines(folder: Path) -> None:
    done = subprocess.run(COMMAND, input=_request(folder), capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    *events, last = [json.loads(line) for line in done.stdout.splitlines()]
    read_events = [read(Event, json.dumps(line["event"])) for line in events]
    assert [event.seq for event in read_events] == list(range(1, len(events) + 1))
    assert {event.attempt for event in read_events} == {3}
    report = read(Report, json.dumps(last["report"]))
    assert report.verdict is Verdict.ACCEPTED
    assert report.environment.node == "n1"
    assert report.tests[0].stdout == '{"report": 1}\n'  # what a submission prints is no line of ours


def test_started_ahead_it_says_when_it_is_ready_and_then_takes_one_request(folder: Path) -> None:
    process = subprocess.Popen([*COMMAND, AHEAD], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    assert json.loads(process.stdout.readline()) == {"ready": True}
    mapped = Path(f"/proc/{process.pid}/maps").read_text()
    assert "libtorch" in mapped, "the libraries are what takes time"
    answer, _ = process.communicate(_request(folder), timeout=120)
    assert process.returncode == 0
    *_, last = answer.splitlines()
    assert read(Report, json.dumps(json.loads(last)["report"])).verdict is Verdict.ACCEPTED


@pytest.mark.parametrize("document", [b"", b"{}", b'{"job": {}, "bundle": "/", "files": {}}'])
def test_a_request_that_cannot_be_read_leaves_no_report(document: bytes) -> None:
    done = subprocess.run(COMMAND, input=document, capture_output=True, check=False, timeout=60)
    assert done.returncode != 0
    assert done.stdout == b""
    assert b"Error" in done.stderr


def test_sigterm_ends_the_sandbox_too(folder: Path) -> None:
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(_request(folder, "for (;;) pause();"))
    process.stdin.close()
    for line in process.stdout:
        if json.loads(line)["event"]["case"] == "tiny":
            break
    deadline = time.monotonic() + 30
    while len(inside := _descendants(process.pid)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)  # bubblewrap's two processes and the harness
    process.send_signal(signal.SIGTERM)
    left = process.stdout.read()
    assert process.wait(30) == 128 + signal.SIGTERM
    assert b"report" not in left
    assert len(inside) >= 3
    assert not [pid for pid in inside if _alive(pid)]
    assert process.stderr is not None
    process.stdout.close()
    process.stderr.close()


def _descendants(parent: int) -> list[int]:
    """All descendants of a process."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        fields = _stat(entry)
        if fields is not None:
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, queue = [], [parent]
    while queue:
        queue += (mine := children.get(queue.pop(), []))
        found += mine
    return found


def _alive(pid: int) -> bool:
    fields = _stat(Path("/proc") / str(pid))
    return fields is not None and fields[0] != "Z"


def _stat(entry: Path) -> list[Any] | None:
    """State, parent and the rest of a process; None if it is none or has ended."""
    if not entry.name.isdecimal():
        return None
    try:
        return (entry / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def test_a_call_that_holds_the_interpreter_ends_the_judge_and_is_named(folder: Path, tmp_path: Path) -> None:
    task = folder / "task.py"
    source = task.read_text("utf-8").replace('return {"y": inputs["x"].double() * 2}', "return 9**9**9")
    task.write_text(source, "utf-8")
    impatient = (
        "from grader.judge import authored, supervisor;"
        "authored.SECONDS = supervisor.OUTSIDE_SECONDS = 1.0;"
        "from grader.judge_process import main; main()"
    )
    lock = tmp_path / "lock"
    lock.touch()
    with pytest.raises(judge.JudgeError, match="SIGKILL") as raised:
        judge.run(
            [sys.executable, "-c", impatient],
            _request(folder),
            seconds=120.0,
            on_event=lambda _event: None,
            interrupted=lambda: None,
            lock=lock,
        )
    assert "oracle did not come back" in raised.value.detail


def test_a_worker_s_judge_refuses_a_sandbox_that_isolates_nothing(folder: Path) -> None:
    request = {**json.loads(_request(folder)), "backend": "plain"}
    done = subprocess.run(COMMAND, input=json.dumps(request).encode(), capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"isolates nothing" in done.stderr
