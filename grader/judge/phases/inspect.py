"""The modes `profile` and `memcheck`: tools that look into the calls of some cases, for the author to read.

Nothing is graded. The calls get the values of the tests and the shapes of timed cases (profile) or of public
tests (memcheck). Where a tool is not on this machine, or not permitted in a sandbox, the Report says so.
"""

import time
from collections.abc import Sequence
from contextlib import suppress

from grader.contract import InspectedKernel, Inspection, Mode, Phase, Text, Verdict
from grader.judge import authored, inspecting
from grader.judge.arena import Arena
from grader.judge.client import Client
from grader.judge.failure import CandidateFailure
from grader.judge.inspecting import Tool
from grader.judge.layout import plan as lay_out
from grader.judge.phases.context import NATIVE, Context, Ended
from grader.judge.prepare import case_seed
from grader.messages import text
from grader.sandbox.base import SandboxError
from grader.task import Case, FunctionTask

MODES = (Mode.PROFILE, Mode.MEMCHECK)
CASES = 2
"""Most cases that are looked into, the first ones."""
CALLS = 5
"""Under the profiler."""
TOOL_SECONDS = 120.0
"""For one call with a tool around it: each kernel may be run some dozens of times."""
READY_SECONDS = 45.0
"""For the tool to start the harness."""
END_SECONDS = 20.0


def run(context: Context) -> tuple[Verdict, Text]:
    """Look into the calls. Raises Ended, CandidateFailure, AssignmentFault, SandboxError."""
    if context.mode is Mode.PROFILE:
        return _profile(context)
    return _memcheck(context)


def _functions(context: Context, cases: Sequence[Case]) -> list[Case]:
    """The first of these cases that are calls of functions and can run here. Raises Ended if none is."""
    plan = context.plan
    found = [
        case
        for case in cases
        if isinstance(plan.tasks[case.part], FunctionTask) and case.id not in plan.skipped
    ][:CASES]
    if not found:
        raise Ended(Verdict.GRADER_ERROR, text("inspect_nothing", mode=context.mode.value))
    return found


def _profile(context: Context) -> tuple[Verdict, Text]:
    plan, device = context.plan, context.sandboxes.device
    if device is None and plan.language in NATIVE:
        raise Ended(Verdict.GRADER_ERROR, text("profile_native"))
    for case in _functions(context, [*plan.calls(), *plan.public]):
        context.progress.event(Phase.TIMED, case=case.id)
        counted: Sequence[InspectedKernel] = ()
        if device is not None:
            counted = _counted(context, case)
        context.findings.inspections.append(_traced(context, case, counted))
    return Verdict.ACCEPTED, text("profiled")


def _traced(context: Context, case: Case, counted: Sequence[InspectedKernel]) -> Inspection:
    """Kernels and their times by torch's profiler, with ncu's counts beside them where there are any."""
    unit, phase = context.plan.units[case.part], Phase.TIMED
    client = context.must_load(unit, f"profile {case.id}", context.arena_bytes([case]), phase)
    try:
        with context.progress.step(phase, "torch profiler"):
            _bind(context, client, case)
            client.call(0, time.monotonic() + context.plan.call_seconds)
            value = client.profile(0, CALLS, time.monotonic() + TOOL_SECONDS)
            said = "".join(client.output()).splitlines()
    finally:
        context.sandboxes.release(client)
    try:
        tool, kernels, features = inspecting.profiled(value)
    except ValueError as error:
        raise CandidateFailure(Verdict.SANDBOX_VIOLATION, text("profile_form"), detail=str(error)) from None
    if context.sandboxes.device is None:
        message = text("profile_cpu", calls=CALLS)
    elif counted:
        message = text("profile_counted", calls=CALLS)
    else:
        message = text("profile_not_counted", calls=CALLS)
    shares = {kernel.name: kernel for kernel in counted}
    kernels = tuple(_with_shares(kernel, shares) for kernel in kernels)
    return Inspection(
        tool=tool, case=case.id, message=message, kernels=kernels, features=features, log=_own(said)
    )


def _own(said: Sequence[str]) -> str:
    """What the submission printed, without what the profiler says of itself."""
    return "\n".join(line for line in said if not line.startswith("USDT:"))[:16384]


def _with_shares(kernel: InspectedKernel, counted: dict[str, InspectedKernel]) -> InspectedKernel:
    """ncu shortens the names of kernels: what is told of one that begins alike is told of this one."""
    same = next((other for name, other in counted.items() if _stem(name) == _stem(kernel.name)), None)
    if same is None:
        return kernel
    return kernel.model_copy(update={"dram_share": same.dram_share, "tensor_share": same.tensor_share})


def _stem(name: str) -> str:
    return name.removeprefix("void ").partition("(")[0].partition("<")[0]


def _counted(context: Context, case: Case) -> Sequence[InspectedKernel]:
    """What ncu counts in one call; nothing where it is not installed or may not count in a sandbox."""
    tool = inspecting.ncu()
    if tool is None:
        context.findings.notes.append("ncu is not on this machine")
        return ()
    try:
        output = _under(context, tool, case, "ncu")
    except (SandboxError, CandidateFailure) as error:
        context.findings.notes.append(f"ncu did not work here: {error}")
        return ()
    kernels = inspecting.kernels_of_ncu(output)
    if not kernels:
        context.findings.notes.append(f"ncu counted nothing: {output[-2000:]}")
    return kernels


def _memcheck(context: Context) -> tuple[Verdict, Text]:
    if context.sandboxes.device is None:
        raise Ended(Verdict.GRADER_ERROR, text("memcheck_no_device"))
    tool = inspecting.memory_checker()
    if tool is None:
        raise Ended(Verdict.GRADER_ERROR, text("memcheck_absent"))
    total = 0
    cases = sorted(context.plan.public, key=lambda case: context.arena_bytes([case]))
    for case in _functions(context, cases):
        context.progress.event(Phase.PUBLIC, case=case.id)
        output = _under(context, tool, case, "compute-sanitizer")
        errors = inspecting.memory_errors(output)
        if errors is None:
            raise SandboxError(f"compute-sanitizer did not work here: {output[-1000:]}")
        total += errors
        message = text("memcheck_found", errors=errors) if errors else text("memcheck_clean")
        context.findings.inspections.append(
            Inspection(
                tool="compute-sanitizer", case=case.id, message=message, errors=errors, log=output[:16384]
            )
        )
    if total:
        return Verdict.RUNTIME_ERROR, text("memcheck_found", errors=total)
    return Verdict.ACCEPTED, text("memcheck_clean")


def _under(context: Context, tool: Tool, case: Case, step: str) -> str:
    """One call on this case with the tool around the harness; all that was printed."""
    sandboxes, plan = context.sandboxes, context.plan
    phase = Phase.TIMED if context.mode is Mode.PROFILE else Phase.PUBLIC
    entry = plan.entries[case.part]
    with context.progress.step(phase, step):
        client = Client.start(
            sandboxes.backend,
            sandboxes.timed_limits,
            arena_bytes=1,
            language=plan.language,
            device=sandboxes.device,
            device_bytes=context.arena_bytes([case]),
            under=tool.words,
            mounts=tool.mounts,
        )
        sandboxes.supervisor.attach(client)
        try:
            client.ready(READY_SECONDS)
            artifact = context.artifact if plan.language in NATIVE else None
            client.load(context.files, entry, plan.units[case.part].file, artifact)
            _bind(context, client, case)
            try:
                client.call(0, time.monotonic() + TOOL_SECONDS)
            except CandidateFailure as failure:
                # What was found until then is what the author wants to know; a tool sums it up in the end.
                said = "".join(client.output())
                with suppress(CandidateFailure, SandboxError):
                    said += "".join(client.finish(END_SECONDS))
                return said + failure.text.en
            return "".join(client.finish(END_SECONDS))
        finally:
            sandboxes.supervisor.detach(client)
            client.close()


def _bind(context: Context, client: Client, case: Case) -> None:
    """One slot with the values of a test. Raises AssignmentFault."""
    task, watch = context.plan.function(case.part), context.watch
    tensors = authored.tensors(task, case, watch)
    slots = lay_out(tensors, 1)
    (slot,) = slots
    image = Arena(slot.end)
    try:
        image.prepare(slots)
        mine = image.tensors(slot)
        given = {tensor.name: mine[tensor.name] for tensor in tensors if tensor.role != "out"}
        seed = case_seed(context.seed, case)
        authored.guard("fill", case, lambda: task.fill(case.params, [given], [seed]), watch)
        client.memory.bytes()[slot.start : slot.end].copy_(image.bytes()[slot.start : slot.end])
    finally:
        image.close()
    client.bind(slots, authored.scalars(task, case, watch), entry=context.plan.entries[case.part])
