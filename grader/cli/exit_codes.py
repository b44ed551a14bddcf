"""Exit codes of every command: they tell a student's failure from an infrastructure's."""

from grader.contract import FailureClass, Verdict

ACCEPTED = 0
NOT_ACCEPTED = 1
USAGE = 2
INFRASTRUCTURE = 3
INTERRUPTED = 130
"""By Ctrl-C, as a shell says it."""


def of(verdict: Verdict) -> int:
    """The exit code for a verdict: 0 accepted, 1 the submission's failure, 3 ours."""
    match verdict.failure_class:
        case FailureClass.NONE:
            return ACCEPTED
        case FailureClass.STUDENT | FailureClass.INTEGRITY:
            return NOT_ACCEPTED
        case FailureClass.ASSIGNMENT | FailureClass.INFRASTRUCTURE:
            return INFRASTRUCTURE
