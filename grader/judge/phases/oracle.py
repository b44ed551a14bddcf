"""The oracle's rehearsal: its code is loaded and its memory taken before any code of the submission runs."""

from grader.contract import Phase
from grader.judge import correctness
from grader.judge.phases.context import Context
from grader.judge.prepare import case_seed
from grader.task import FunctionTask


def run(context: Context) -> None:
    """Fill, compute and compare one case of every function, public where there is one.

    Raises AssignmentFault: an oracle that fails here fails for everybody.
    """
    plan = context.plan
    cases = [case for case in (*plan.public, *plan.hidden, *plan.timed) if case.id not in plan.skipped]
    with context.progress.step(Phase.PREPARE, "rehearse the oracle"):
        for part, task in plan.tasks.items():
            case = next((case for case in cases if case.part == part), None)
            if case is not None and isinstance(task, FunctionTask):
                context.arena_bytes([case])  # Refused before anything of that size is taken.
                correctness.rehearse(task, case, case_seed(context.seed, case), watch=context.watch)
