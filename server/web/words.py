"""Names that the contract's values have on pages: message ids, with a tone (colour) and a sign beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from grader.contract import Language, Mode, Phase, Verdict

Tone: TypeAlias = Literal["good", "bad", "warn", "info", ""]


def N_(message: str) -> str:  # noqa: N802 - gettext's own name for marking a message.
    """Mark a message for the catalogue without translating it here."""
    return message


@dataclass(frozen=True)
class Word:
    """A name and, where useful, a sentence that explains it; both are message ids."""

    name: str
    tone: Tone = ""
    sign: str = ""
    hint: str = ""


VERDICTS: Mapping[Verdict, Word] = {
    Verdict.ACCEPTED: Word(N_("Accepted"), "good", "✓"),
    Verdict.WRONG_ANSWER: Word(
        N_("Wrong answer"), "bad", "✗", N_("An output differs from the oracle by more than the tolerance.")
    ),
    Verdict.BUILD_ERROR: Word(
        N_("Build error"),
        "bad",
        "✗",
        N_("The code could not be compiled or imported; the log below says where."),
    ),
    Verdict.RUNTIME_ERROR: Word(
        N_("Runtime error"), "bad", "✗", N_("The code stopped with an error while it was called.")
    ),
    Verdict.TIME_LIMIT: Word(
        N_("Time limit"), "bad", "✗", N_("A step took longer than it may; see below where the time went.")
    ),
    Verdict.MEMORY_LIMIT: Word(
        N_("Memory limit"), "bad", "✗", N_("The code asked for more memory than this target allows.")
    ),
    Verdict.OUTPUT_LIMIT: Word(
        N_("Output limit"), "bad", "✗", N_("The code printed more than is kept. Print less, or nothing.")
    ),
    Verdict.SANDBOX_VIOLATION: Word(
        N_("Sandbox violation"), "bad", "✗", N_("The code tried something that the sandbox does not allow.")
    ),
    Verdict.FASTER_THAN_LIGHT: Word(
        N_("Faster than light"),
        "warn",
        "!",
        N_("A time lies below what the hardware could possibly need. Staff look at every such case."),
    ),
    Verdict.WORK_OUTSIDE_THE_CLOCK: Word(
        N_("Work outside the clock"),
        "warn",
        "!",
        N_("Something was computed while the clock did not run. Staff look at every such case."),
    ),
    Verdict.OVERLAP: Word(
        N_("Overlapping calls"),
        "warn",
        "!",
        N_("Calls that must follow one another ran at the same time. Staff look at every such case."),
    ),
    Verdict.UNSTABLE_TIMING: Word(
        N_("Unstable timing"),
        "warn",
        "!",
        N_("The machine was too noisy to measure. The tests count; the timing costs you nothing."),
    ),
    Verdict.ASSIGNMENT_ERROR: Word(
        N_("Assignment error"),
        "warn",
        "!",
        N_("The assignment itself failed. It costs you no attempt; staff see it."),
    ),
    Verdict.GRADER_ERROR: Word(
        N_("Grader error"), "warn", "!", N_("Our side failed. It costs you no attempt; staff see it.")
    ),
}

NOT_RUN = Word(N_("Not run"), "", "–")

STATES: Mapping[str, Word] = {
    "queued": Word(N_("In the queue"), "info", "…"),
    "dispatched": Word(N_("Sent to a node"), "info", "…"),
    "running": Word(N_("Being graded"), "info", "▸"),
    "done": Word(N_("Graded"), "", "✓"),
    "cancelled": Word(N_("Cancelled"), "", "–"),
    "grader_error": Word(
        N_("Grader error"), "warn", "!", N_("Our side failed. It costs you no attempt; staff see it.")
    ),
}

ASSIGNMENT_STATES: Mapping[str, Word] = {
    "unpublished": Word(N_("Unpublished"), "warn", "!"),
    "not_open": Word(N_("Not open yet"), "", "–"),
    "open": Word(N_("Open"), "good", "✓"),
    "closed": Word(N_("Closed"), "", "–"),
}

PHASES: Mapping[Phase, str] = {
    Phase.QUEUE: N_("Queue"),
    Phase.FETCH: N_("Fetch"),
    Phase.PREPARE: N_("Prepare"),
    Phase.BUILD: N_("Build"),
    Phase.PUBLIC: N_("Public tests"),
    Phase.TIMED: N_("Timed cases"),
    Phase.HIDDEN: N_("Hidden tests"),
    Phase.SCORE: N_("Score"),
}

MODES: Mapping[Mode, str] = {
    Mode.TEST: N_("Test only"),
    Mode.GRADE: N_("Grade"),
    Mode.PROFILE: N_("Profile"),
    Mode.MEMCHECK: N_("Memory check"),
}

LANGUAGES: Mapping[Language, str] = {
    Language.PYTHON: "Python",
    Language.TRITON: "Triton",
    Language.TILELANG: "TileLang",
    Language.CUTE: "CuTe DSL",
    Language.CPP: "C++",
    Language.CUDA: "CUDA",
}

RESOURCES: Mapping[str, str] = {
    "dram": N_("memory bandwidth"),
    "link": N_("link bandwidth"),
    "steps": N_("latency of steps"),
    # Of simulated cases:
    "latency": N_("latency"),
    "bandwidth": N_("bandwidth"),
    "banks": N_("banks"),
    "reuse": N_("reuse"),
    "capacity": N_("capacity"),
    "work": N_("work"),
    "longest": N_("longest"),
    "longest and work": N_("longest and work"),
}
"""What binds a case; a resource that is not here is an arithmetic unit and keeps its name."""

LIMITS: Mapping[str, str] = {
    "wall_seconds": N_("Session"),
    "build_seconds": N_("Build"),
    "warm_up_seconds": N_("Warm-up"),
    "cpu_seconds": N_("Processor time"),
    "memory_bytes": N_("Memory"),
    "processes": N_("Processes"),
    "output_bytes": N_("Output"),
}
"""Names of the limits of a target, in the order in which a page shows them."""

ROLES: Mapping[str, str] = {
    "student": N_("student"),
    "ta": N_("teaching assistant"),
    "admin": N_("course admin"),
}

SCOPES: Mapping[str, str] = {
    "read": N_("read"),
    "submit": N_("submit"),
    "staff": N_("staff's work"),
}
"""Rights of an API token."""

UNITS: Mapping[str, str] = {"cycles": N_("cycles"), "tokens": N_("tokens")}
"""Units of simulated quantities; one that is not here is a symbol and keeps its name."""

NODE_STATES: Mapping[str, Word] = {
    "active": Word(N_("Active"), "good", "✓"),
    "paused": Word(N_("Paused"), "warn", "–"),
    "draining": Word(N_("Draining"), "warn", "–"),
    "set_aside": Word(N_("Set aside"), "warn", "!"),
    "quarantined": Word(N_("Quarantined"), "bad", "!"),
}

NOTICES: Mapping[str, str] = {
    "cancelled": N_("The submission is cancelled."),
    "rerun": N_("The submission is back in the queue."),
    "reviewed": N_("Your decision is noted."),
    "revoked": N_("The token is revoked."),
    "password": N_("Your password is changed."),
    "logged_out": N_("You are logged out."),
}
"""What a page says after a redirect, by the code in its address."""
