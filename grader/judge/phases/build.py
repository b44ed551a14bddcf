"""The build phase: what must be compiled is, before the judge needs anything else."""

from grader.contract import Language, Phase, Text, Verdict
from grader.dialects import DIALECTS
from grader.judge import build
from grader.judge.client import NoCompilerError
from grader.judge.phases.context import NATIVE, Context, Ended
from grader.messages import text


def run(context: Context) -> None:
    """Compile C++ and CUDA; dialects of Python compile at their first call. Raises Ended, SandboxError."""
    plan, device = context.plan, context.sandboxes.device
    if plan.language in DIALECTS:
        image = context.sandboxes.backend.image
        lacking = DIALECTS[plan.language].missing(on_device=device is not None, image=image)
        if lacking is not None:
            raise Ended(Verdict.GRADER_ERROR, lacking)
    if plan.language not in NATIVE:
        return
    flags = device.compiler_flags if device is not None and plan.language is Language.CUDA else ()
    with context.progress.step(Phase.BUILD, "compile"):
        try:
            built = build.compile_native(
                context.sandboxes.backend,
                plan.limits,
                context.files,
                plan.entry_name,
                language=plan.language,
                flags=flags,
                seconds=plan.build_seconds,
                cpus=None,
                supervisor=context.sandboxes.supervisor,
            )
        except NoCompilerError as error:
            raise Ended(Verdict.GRADER_ERROR, error.text) from None
    context.findings.build = built.result
    if built.verdict is not Verdict.ACCEPTED:
        refusal: Text = built.message or text("compile_error", status=0)
        raise Ended(built.verdict, refusal)
    context.artifact = built.artifact
