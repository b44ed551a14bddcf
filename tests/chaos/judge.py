"""The judge of a chaos worker: writes down that it ran, then plays a judge, or becomes the real one."""

import base64
import json
import os
import sys
import time
from pathlib import Path

from grader.node.settings import AHEAD

COPIED = ("submission", "attempt", "token", "mode", "assignment", "bundle")


def start_time(pid: int) -> str:
    """Start of a process in clock ticks since boot: with its number it names the process for ever."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def main() -> None:
    if AHEAD in sys.argv:
        _say(ready=True)
    data = sys.stdin.buffer.read()
    request = json.loads(data)
    job = request["job"]
    head = base64.b64decode(request["files"]["solution.py"]).decode().splitlines()[0]
    _, _, kind, fraction, seconds, _ = head.split(" ")
    pid = os.getpid()
    line = {"job": job, "kind": kind, "pid": pid, "start": start_time(pid), "time": time.time()}
    witness = os.open(os.environ["CHAOS_WITNESS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(witness, json.dumps(line).encode() + b"\n")
    os.close(witness)
    if kind.startswith("real"):
        _become_the_judge(data)
    for seq, phase in enumerate(("build", "public"), start=1):
        _say(event={"version": 1, "attempt": job["attempt"], "seq": seq, "time": time.time(), "phase": phase})
    time.sleep(float(seconds))
    if kind == "die":
        sys.exit("told to die")
    report = stand_in(
        job, request["node"], "wrong_answer" if kind == "wrong" else "accepted", float(fraction)
    )
    _say(report=report)


def stand_in(job: dict[str, object], node: str, verdict: str, fraction: float) -> dict[str, object]:
    """A Report as the real judge would write it."""
    accepted = verdict == "accepted"
    score = {
        "fraction": fraction,
        "low": fraction,
        "high": fraction,
        "points": 100 * fraction,
        "ranked": True,
    }
    return {
        **{key: job[key] for key in COPIED},
        "version": 1,
        "target": job["target"],
        "verdict": verdict,
        "message": {"code": verdict, "en": "A sentence.", "zh": "一句话。"},
        "started": time.time(),
        "seconds": 0.1,
        "phases": [{"phase": "public", "seconds": 0.1}],
        "tests": [{"case": "tiny", "part": "kernel", "verdict": verdict, "seconds": 0.1}],
        "score": score if accepted and job["mode"] == "grade" else None,
        "environment": {
            "judge_version": "chaos",
            "hardware": "cpu",
            "hardware_name": "chaos",
            "node": node,
            "sandbox": "none",
            "freezer": "none",
        },
    }


def _become_the_judge(request: bytes) -> None:
    memory = os.memfd_create("request")
    os.write(memory, request)
    os.lseek(memory, 0, os.SEEK_SET)
    os.dup2(memory, 0)
    os.execv(sys.executable, [sys.executable, "-m", "grader.judge_process"])


def _say(**document: object) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
