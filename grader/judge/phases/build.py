"""The build phase: what must be compiled is, before the judge needs anything else."""

from grader.contract import Language, Phase, Text, Verdict
from grader.judge import build
from grader.judge.phases.context import Context, Ended
from grader.messages import text


def run(context: Context) -> None:
    """Compile C++; other languages have nothing to build. Raises Ended, SandboxError."""
    plan = context.plan
    if plan.language is not Language.CPP:
        return
    with context.progress.step(Phase.BUILD, "compile"):
        built = build.compile_cpp(
            context.sandboxes.backend,
            plan.limits,
            context.files,
            plan.entry_name,
            seconds=plan.build_seconds,
            cpus=None,
            supervisor=context.sandboxes.supervisor,
        )
    context.findings.build = built.result
    if built.verdict is not Verdict.ACCEPTED:
        refusal: Text = built.message or text("compile_error", status=0)
        raise Ended(built.verdict, refusal)
    context.artifact = built.artifact
