"""The Report of a node that could not grade: a `grader error` with its cause, at no cost to the student."""

import platform
import time
from importlib.metadata import version

from grader.contract import Environment, JobSpec, Report, StaffDetail, Text, Verdict

MESSAGES = {
    "blob_unavailable": (
        "The grading node could not fetch what this job needs. This is not your fault and costs no attempt.",
        "评测节点无法取得评测所需的文件。这不是你的问题，也不消耗提交次数。",
    ),
    "bundle_unusable": (
        "The grading node cannot read this assignment. This is not your fault and costs no attempt.",
        "评测节点无法读取该作业。这不是你的问题，也不消耗提交次数。",
    ),
    "judge_failed": (
        "The judge failed while grading. This is not your fault and costs no attempt.",
        "评测程序在评测过程中出错。这不是你的问题，也不消耗提交次数。",
    ),
    "node_failed": (
        "The grading node failed. This is not your fault and costs no attempt.",
        "评测节点出错。这不是你的问题，也不消耗提交次数。",
    ),
    "report_too_large": (
        "The judge's report is too large to be sent. This is not your fault and costs no attempt.",
        "评测报告过大，无法发送。这不是你的问题，也不消耗提交次数。",
    ),
}
DETAIL_CHARS = 65536


def grader_error(job: JobSpec, node: str, code: str, cause: str, *, started: float) -> Report:
    """A Report for `job` with the message of that `code`; `cause` is for staff only."""
    en, zh = MESSAGES[code]
    return Report(
        submission=job.submission,
        attempt=job.attempt,
        token=job.token,
        mode=job.mode,
        assignment=job.assignment,
        bundle=job.bundle,
        language=job.language,
        target=job.target,
        verdict=Verdict.GRADER_ERROR,
        message=Text(code=code, en=en, zh=zh),
        started=started,
        seconds=max(0.0, time.time() - started),
        environment=Environment(
            judge_version=version("solmark"),
            hardware=job.target.hardware,
            hardware_name="",
            node=node[:128],
            sandbox="none",
            freezer="none",
            python=platform.python_version(),
            kernel=platform.release(),
        ),
        staff=StaffDetail(traceback=cause.strip()[-DETAIL_CHARS:]),
    )
