"""A judge for tests of the worker: does what the submitted file `solution.py` says, in a word."""

import base64
import json
import os
import sys
import time
from pathlib import Path

if "--ahead" in sys.argv:
    sys.stdout.write('{"ready": true}\n')
    sys.stdout.flush()
request = json.load(sys.stdin)
job = request["job"]
COPIED = ("submission", "attempt", "token", "mode", "assignment", "bundle")
what, _, argument = base64.b64decode(request["files"]["solution.py"]).decode().strip().partition(" ")


def say(document: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def event(seq: int, phase: str) -> None:
    say({"event": {"version": 1, "attempt": job["attempt"], "seq": seq, "time": time.time(), "phase": phase}})


def report(**changes: object) -> None:
    say(
        {
            "report": {
                **{key: job[key] for key in COPIED},
                "version": 1,
                "target": job["target"],
                "verdict": "accepted",
                "message": {"code": "accepted", "en": "Accepted.", "zh": "通过。"},
                "started": time.time(),
                "seconds": 0.1,
                "phases": [{"phase": "public", "seconds": 0.25}],
                "environment": {
                    "judge_version": "test",
                    "hardware": "cpu",
                    "hardware_name": "test",
                    "node": request["node"],
                    "sandbox": "test",
                    "freezer": "none",
                },
                **changes,
            }
        }
    )


event(1, "build")
event(2, "public")
match what:
    case "pass":
        report()
    case "who":
        report(message={"code": "who", "en": str(os.getpid()), "zh": ""})
    case "sleep":
        child = os.fork()
        if child == 0:
            time.sleep(3600)
        time.sleep(float(argument))
        report()
    case "die":
        sys.stderr.write("the cause of death\n")
        sys.exit(3)
    case "forge":
        report(token="another token of the right length")
    case "large":
        report(phases=[{"phase": "build", "step": "x" * 60, "seconds": 1.0}] * 12000)
    case "garbage":
        sys.stdout.write("no JSON\n")
    case "folder":
        report(
            message={
                "code": "bundle",
                "en": Path(request["bundle"], "assignment.toml").read_text()[:100],
                "zh": "",
            }
        )
    case _:
        sys.exit(f"what is {what}?")
