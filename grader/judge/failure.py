"""Why a session cannot go on: the candidate failed, or the assignment did."""

from grader.contract import Text, Verdict


class CandidateFailure(Exception):  # noqa: N818 (it is a finding, not an error of ours)
    """The candidate did something that ends its case; `verdict` says what.

    `alive` is true where the process can still be asked (its code raised an exception), false where it is
    gone. `detail` is the candidate's own words, cleaned: for public cases and for staff.
    """

    def __init__(self, verdict: Verdict, text: Text, *, detail: str = "", alive: bool = False) -> None:
        super().__init__(text.en)
        self.verdict = verdict
        self.text = text
        self.detail = detail
        self.alive = alive


class AssignmentFault(Exception):  # noqa: N818
    """The assignment cannot be graded: `what` names the function at fault, `detail` is for staff.

    `text` is what the student reads, where that can say more than whose fault it is.
    """

    def __init__(self, what: str, detail: str, text: Text | None = None) -> None:
        super().__init__(f"{what}: {detail}")
        self.what = what
        self.detail = detail
        self.text = text
