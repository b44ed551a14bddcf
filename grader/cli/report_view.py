"""A Report as tables for the terminal."""

from collections import defaultdict
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from grader.cli.language import Locale, pick, say
from grader.contract import FailureClass, Inspection, Measure, Phase, Report, TestResult, TimedResult, Verdict

CAUSE_LINES = 8
"""Of a fault that has no traceback."""

VERDICT_NAMES: dict[Verdict, tuple[str, str]] = {
    Verdict.ACCEPTED: ("accepted", "通过"),
    Verdict.WRONG_ANSWER: ("wrong answer", "答案错误"),
    Verdict.BUILD_ERROR: ("build error", "构建错误"),
    Verdict.RUNTIME_ERROR: ("runtime error", "运行错误"),
    Verdict.TIME_LIMIT: ("time limit", "超时"),
    Verdict.MEMORY_LIMIT: ("memory limit", "内存超限"),
    Verdict.OUTPUT_LIMIT: ("output limit", "输出超限"),
    Verdict.SANDBOX_VIOLATION: ("sandbox violation", "违反沙箱规则"),
    Verdict.FASTER_THAN_LIGHT: ("faster than light", "超过光速"),
    Verdict.WORK_OUTSIDE_THE_CLOCK: ("work outside the clock", "计时之外的工作"),
    Verdict.OVERLAP: ("overlap", "调用重叠"),
    Verdict.UNSTABLE_TIMING: ("unstable timing", "计时不稳定"),
    Verdict.ASSIGNMENT_ERROR: ("assignment error", "作业错误"),
    Verdict.GRADER_ERROR: ("grader error", "评测系统错误"),
}

RESOURCES: dict[str, tuple[str, str]] = {
    "dram": ("memory", "内存"),
    "link": ("links", "互连"),
    "steps": ("steps", "步骤"),
    # Of simulated cases:
    "latency": ("latency", "延迟"),
    "bandwidth": ("bandwidth", "带宽"),
    "banks": ("banks", "存储体"),
    "reuse": ("reuse", "复用"),
    "capacity": ("capacity", "容量"),
    "work": ("work", "工作量"),
    "longest": ("longest", "最长的请求"),
    "longest and work": ("longest and work", "最长的请求与工作量"),
}
"""What binds a case; another is an arithmetic unit and keeps its name."""
_UNITS_ZH = {"cycles": "周期", "tokens": "token"}
"""Units of simulated quantities; one that is not here is a symbol and keeps its name."""

PHASES_ZH: dict[Phase, str] = {
    Phase.QUEUE: "排队",
    Phase.FETCH: "获取",
    Phase.PREPARE: "准备",
    Phase.BUILD: "构建",
    Phase.PUBLIC: "公开测试",
    Phase.TIMED: "计时",
    Phase.HIDDEN: "隐藏测试",
    Phase.SCORE: "评分",
}


def verdict_name(verdict: Verdict, locale: Locale | None = None) -> str:
    """The verdict in words."""
    return pick(*VERDICT_NAMES[verdict], locale)


def phase_name(phase: str, locale: Locale | None = None) -> str:
    """The phase in words; one that a newer server has and this program does not keeps its name."""
    return pick(phase, PHASES_ZH[Phase(phase)], locale) if phase in set(Phase) else phase


def show(report: Report, console: Console, locale: Locale) -> None:
    """Print all that a student may see, and staff detail of hidden failures where this machine has it."""
    show_verdict(report, console, locale)
    _show_tests(report, console, locale)
    _show_timed(report.timed, console, locale)
    _show_inspections(report, console, locale)
    _show_score(report, console, locale)
    _show_phases(report, console, locale)


def show_verdict(report: Report, console: Console, locale: Locale) -> None:
    """Print the verdict and why: its sentence, what failed, and what a build that failed has printed."""
    colour = {FailureClass.NONE: "green", FailureClass.INFRASTRUCTURE: "yellow"}.get(
        report.failure_class, "red"
    )
    name = verdict_name(report.verdict, locale)
    console.print(
        f"[bold {colour}]{name}[/] · {report.assignment} · {report.language or '–'} · {report.mode}"
    )
    if report.message.en:
        console.print(say(report.message, locale), markup=False, highlight=False)
    for cause in _cause(report):
        console.print(cause, markup=False, highlight=False)
    if report.build and report.build.log.strip() and report.verdict is Verdict.BUILD_ERROR:
        console.rule(pick("build output", "构建输出", locale))
        console.print(report.build.log, markup=False, highlight=False)


def _cause(report: Report) -> list[str]:
    """What failed and where, for who has the assignment or the grader to mend: the whole is in the JSON."""
    ours = report.verdict in (Verdict.ASSIGNMENT_ERROR, Verdict.GRADER_ERROR)
    if not ours or report.staff is None:
        return []
    lines = [line for line in report.staff.traceback.splitlines() if line.strip()]
    start = next((i for i, line in enumerate(lines) if line.startswith("Traceback ")), None)
    if start is None:
        return lines[:CAUSE_LINES]
    frames = [i for i, line in enumerate(lines) if i > start and line.startswith('  File "')]
    authored = [i for i in frames if not any(part in lines[i] for part in ("/site-packages/", "/grader/"))]
    shown = [*lines[:start][:CAUSE_LINES]]
    if frames:
        at = (authored or frames)[-1]
        shown += [line for line in lines[at : at + 2] if line.startswith("  ")]
    raised = [line for line in lines[start + 1 :] if not line.startswith(" ")]
    return [*shown, *raised[-1:]]


def _mark(result: TestResult | TimedResult, locale: Locale) -> str:
    if result.verdict is None:
        return f"[dim]{pick('not run', '未运行', locale)}[/]"
    colour = "green" if result.verdict is Verdict.ACCEPTED else "red"
    return f"[{colour}]{verdict_name(result.verdict, locale)}[/]"


def _show_tests(report: Report, console: Console, locale: Locale) -> None:
    if report.tests:
        _show_cases(pick("public tests", "公开测试", locale), report.tests, console, locale)
    if report.hidden is not None and report.hidden.cases:
        outcome = {
            None: pick("not run", "未运行", locale),
            True: pick("all passed", "全部通过", locale),
            False: pick("not all passed", "未全部通过", locale),
        }[report.hidden.passed]
        console.print(pick(f"hidden tests: {outcome}", f"隐藏测试：{outcome}", locale))
    _show_hidden(report, console, locale)


def _show_cases(title: str, tests: Sequence[TestResult], console: Console, locale: Locale) -> None:
    """Tests as a table, then what those that failed have printed."""
    table = Table(title=title, title_justify="left")
    for column in (("case", "用例"), ("shapes", "形状"), ("result", "结果"), ("detail", "细节")):
        table.add_column(pick(*column, locale), overflow="fold")
    for test in tests:
        shapes = ", ".join(f"{name} {shape}" for name, shape in list(test.shapes.items())[:3])
        table.add_row(test.case, escape(shapes), _mark(test, locale), escape(_detail(test, locale)))
    console.print(table)
    for test in tests:
        output = test.stdout + test.stderr
        if output and test.verdict is not Verdict.ACCEPTED:
            console.rule(f"{test.case}: stdout, stderr")
            console.print(output, markup=False, highlight=False)


def _show_hidden(report: Report, console: Console, locale: Locale) -> None:
    """Hidden tests that failed, and how to see them again: for staff, who alone have them in their Report."""
    hidden = report.staff.hidden if report.staff is not None else ()
    failed = [test for test in hidden if test.verdict not in (None, Verdict.ACCEPTED)]
    if report.staff is None or not failed:
        return
    _show_cases(pick("hidden tests that failed", "未通过的隐藏测试", locale), failed, console, locale)
    for test in failed:
        values = ", ".join(f"{name} = {value!r}" for name, value in test.params.items())
        console.print(f"{test.case}: {values}", markup=False, highlight=False, soft_wrap=True)
    lines = (
        (pick("seed", "种子", locale), report.staff.seed),
        (pick("to see them again", "复现命令", locale), report.staff.replay),
    )
    for label, value in lines:
        console.print(f"{label}: {value}", markup=False, highlight=False, soft_wrap=True)


def _detail(test: TestResult, locale: Locale) -> str:
    lines = []
    wrong = test.first_wrong
    if wrong is not None:
        where = f"{wrong.output}[{', '.join(map(str, wrong.index))}]"
        lines.append(
            pick(
                f"{where}: expected {wrong.expected}, found {wrong.found}",
                f"{where}：应为 {wrong.expected}，得到 {wrong.found}",
                locale,
            )
        )
    if test.message is not None and test.message.en:
        lines.append(say(test.message, locale))
    return "\n".join(lines)


def _show_timed(timed: tuple[TimedResult, ...], console: Console, locale: Locale) -> None:
    if not timed:
        return
    table = Table(title=pick("timed cases", "计时用例", locale), title_justify="left")
    columns = (
        ("case", "用例"),
        ("measured", "测量值"),
        ("95 % interval", "95 % 区间"),
        ("bound", "下界"),
        ("bound by", "受限于"),
        ("of the speed of light", "光速占比"),
        ("result", "结果"),
    )
    for column in columns:
        table.add_column(pick(*column, locale), overflow="fold")
    for case in timed:
        measure = case.measure
        if measure is None:
            table.add_row(case.case, *["–"] * 5, _mark(case, locale))
            continue
        table.add_row(
            case.case,
            quantity(measure, measure.value, locale),
            f"{quantity(measure, measure.low, locale)} – {quantity(measure, measure.high, locale)}",
            "–" if measure.bound is None else quantity(measure, measure.bound, locale),
            pick(*RESOURCES[measure.bound_by], locale)
            if measure.bound_by in RESOURCES
            else measure.bound_by or "–",
            "–" if case.fraction is None else f"{case.fraction:.1%}",
            _mark(case, locale),
        )
    console.print(table)
    for sentence, cases in _notes(timed, locale).items():
        console.print(f"{', '.join(dict.fromkeys(cases))}: {sentence}", markup=False, highlight=False)
    _show_care(timed, console, locale)


def _show_care(timed: tuple[TimedResult, ...], console: Console, locale: Locale) -> None:
    """How exact the times are: what the judge's constant can have changed, and rounds that did not count."""
    comma = pick(", ", "，", locale)
    bias = [
        f"{case.case} {seconds(case.bias_bound_seconds)}"
        for case in timed
        if case.bias_bound_seconds and case.measure is not None
    ]
    if bias:
        most = comma.join(bias)
        console.print(
            pick(
                f"error of a call's time by the constant that the judge subtracts, at most: {most}",
                f"从每轮中减去的评测器常数，最多可能使一次调用的时间偏差：{most}",
                locale,
            ),
            style="dim",
            highlight=False,
            markup=False,
        )
    for case in timed:
        told = case.message is not None and case.message.code == "disturbed"
        if case.disturbed_rounds and not told:
            gone, whole = case.disturbed_rounds, case.disturbed_rounds + len(case.rounds)
            console.print(
                pick(
                    f"{case.case}: {gone} of {whole} rounds did not count, because the machine's memory was "
                    "slower around them than when it is quiet",
                    f"{case.case}：{whole} 轮中有 {gone} 轮未计入，因为这些轮次前后机器的内存比空闲时慢",
                    locale,
                ),
                highlight=False,
                markup=False,
            )


def _notes(timed: tuple[TimedResult, ...], locale: Locale) -> dict[str, list[str]]:
    """Why cases have no fraction or were not accepted: each sentence once, with the cases it is about."""
    notes: dict[str, list[str]] = defaultdict(list)
    for case in timed:
        for sentence in (case.message, case.fraction_reason):
            if sentence is not None and sentence.en:
                notes[say(sentence, locale)].append(case.case)
    return notes


def _show_score(report: Report, console: Console, locale: Locale) -> None:
    score = report.score
    if score is None:
        return
    told = set(_notes(report.timed, locale))
    if score.fraction is not None and score.low is not None and score.high is not None:
        console.print(
            pick(
                f"[bold]{score.fraction:.1%}[/] of the speed of light ({score.low:.1%} – {score.high:.1%})",
                f"光速的 [bold]{score.fraction:.1%}[/]（{score.low:.1%} – {score.high:.1%}）",
                locale,
            )
        )
    elif score.fraction_reason is not None and (reason := say(score.fraction_reason, locale)) not in told:
        console.print(reason, markup=False)
        told.add(reason)
    if score.points is not None:
        console.print(pick(f"{score.points:.1f} points", f"{score.points:.1f} 分", locale))
    if not score.ranked and score.unranked_reason is not None:
        reason = say(score.unranked_reason, locale)
        reason = pick("see above", "见上", locale) if reason in told else reason
        console.print(
            pick(f"unranked: {reason}", f"不计入排名：{reason}", locale), markup=False, style="yellow"
        )


def _show_inspections(report: Report, console: Console, locale: Locale) -> None:
    for found in report.inspections:
        console.rule(f"{found.case} · {found.tool}")
        console.print(say(found.message, locale), markup=False, highlight=False)
        if found.kernels:
            console.print(_kernels(found, locale))
        if found.features:
            parts = " · ".join(f"{name} {count}" for name, count in found.features.items())
            console.print(f"{pick('machine code', '机器码', locale)}: {parts}", highlight=False)
        if found.log.strip():
            console.print(found.log, markup=False, highlight=False)


def _kernels(found: Inspection, locale: Locale) -> Table:
    table = Table()
    titles = (
        pick("name", "名称", locale), pick("calls", "次数", locale), pick("time", "时间", locale),
        pick("registers", "寄存器", locale), pick("shared", "共享内存", locale), "DRAM", "tensor",
    )  # fmt: skip
    for place, title in enumerate(titles):
        table.add_column(title, justify="left" if place == 0 else "right")
    for kernel in found.kernels:
        shares = (
            "" if share is None else f"{share:.0%}" for share in (kernel.dram_share, kernel.tensor_share)
        )
        asked = ("" if value is None else str(value) for value in (kernel.registers, kernel.shared_bytes))
        table.add_row(escape(kernel.name), str(kernel.calls), seconds(kernel.seconds), *asked, *shares)
    return table


def _show_phases(report: Report, console: Console, locale: Locale) -> None:
    spent: dict[str, float] = defaultdict(float)
    for entry in report.phases:
        spent[entry.phase.value] += entry.seconds
    parts = [f"{phase_name(phase, locale)} {value:.1f} s" for phase, value in spent.items() if value >= 0.05]
    line = " · ".join([*parts, f"Σ {report.seconds:.1f} s"])
    title = pick("where the time went", "时间花在哪里", locale)
    console.print(f"{title}: {line}", style="dim", highlight=False)


def quantity(measure: Measure, value: float, locale: Locale | None = None) -> str:
    """A value of a measure with its unit."""
    if measure.unit == "s":
        return seconds(value)
    number = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"  # Never with an exponent.
    return f"{number} {pick(measure.unit, _UNITS_ZH.get(measure.unit, measure.unit), locale)}"


def seconds(value: float) -> str:
    """A duration with three significant digits and a fitting unit."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"
