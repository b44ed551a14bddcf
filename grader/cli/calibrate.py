"""`solmark calibrate`: measure this machine, so that times can be held against its speed of light."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from grader.cli import exit_codes
from grader.cli.language import pick, say
from grader.hardware.calibrate import Outcome
from grader.hardware.calibrate_device import DeviceOutcome
from grader.hardware.profile import CPU_CEILING_MARGIN, Calibration, HardwareError, committed, load


def command(
    quick: Annotated[
        bool, typer.Option("--quick", help="A short run, for the candidate's number of cores alone.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Drop what is stored, for instance of another CPU.")
    ] = False,
    hardware: Annotated[
        str, typer.Option(help="Hardware class: cpu, or that of the device of this machine.")
    ] = "cpu",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the stored calibration and nothing else.")
    ] = False,
) -> None:
    """Measure this machine's ceilings and the judge's constant; keep the best of all runs."""
    from grader.hardware.calibrate import calibrate
    from grader.hardware.calibrate_device import calibrate_device

    errors = Console(stderr=True)
    try:
        kind = committed(hardware).kind
    except HardwareError as error:
        errors.print(f"--hardware: {error}", style="red", markup=False, highlight=False)
        raise typer.Exit(exit_codes.USAGE) from error
    try:
        with errors.status(pick("calibrating", "校准中")) as status:
            outcome: Outcome | DeviceOutcome
            if kind == "cpu":
                outcome = calibrate(quick=quick, force=force, progress=lambda text: status.update(say(text)))
            else:
                outcome = calibrate_device(
                    hardware, quick=quick, force=force, progress=lambda text: status.update(say(text))
                )
    except HardwareError as error:
        errors.print(str(error), style="red", markup=False, highlight=False)
        raise typer.Exit(exit_codes.INFRASTRUCTURE) from error
    if as_json:
        typer.echo(outcome.calibration.model_dump_json(indent=2))
        return
    if isinstance(outcome, DeviceOutcome):
        _show_device(outcome, Console())
    else:
        _show(outcome, Console())


def _show_device(outcome: DeviceOutcome, console: Console) -> None:
    calibration = outcome.calibration
    table = Table(title=calibration.name, title_justify="left")
    for heading in (pick("rate", "速率"), pick("measured", "实测"), pick("datasheet", "标称")):
        table.add_column(heading, justify="right")
    hardware = load(calibration.hardware)
    for unit, rates in sorted(hardware.units.items()):
        if rates.measured is not None:
            table.add_row(f"{unit} TFLOP/s", f"{rates.measured / 1e12:.1f}", f"{rates.score / 1e12:.1f}")
    if hardware.dram is not None and hardware.dram.measured is not None:
        table.add_row(
            "dram TB/s", f"{hardware.dram.measured / 1e12:.3f}", f"{hardware.dram.score / 1e12:.3f}"
        )
    console.print(table)
    _show_constant(calibration, console)
    step = (calibration.step_seconds or 0.0) * 1e6
    console.print(pick(f"a step: {step:.2f} µs", f"一步：{step:.2f} µs"), highlight=False)
    console.print(f"{outcome.path}", highlight=False, markup=False, soft_wrap=True)


def _show_constant(calibration: Calibration, console: Console) -> None:
    """What is subtracted from a round, and how far it may be off."""
    from grader.judge import overhead

    found = calibration.overhead_seconds
    if constant := found.get(overhead.KIND):
        least, usual = constant * 1e6, found.get(overhead.MEDIAN, constant) * 1e6
        console.print(
            pick(
                f"the judge's constant, a round of empty calls: {least:.0f} µs (typically {usual:.0f})",
                f"评测器常数，即空调用的一轮：{least:.0f} µs（多数为 {usual:.0f}）",
            ),
            highlight=False,
            markup=False,
        )


def _show(outcome: Outcome, console: Console) -> None:
    calibration = outcome.calibration
    table = Table(title=calibration.name, title_justify="left")
    for heading in (
        pick("cores", "核数"),
        pick("copy GB/s: best (typical)", "复制 GB/s：最好（多数）"),
        pick("kept", "采用"),
        pick("fp32 matmul GFLOP/s: best (typical)", "fp32 矩阵乘 GFLOP/s：最好（多数）"),
        pick("kept", "采用"),
    ):
        table.add_column(heading, justify="right")
    for cores, row in sorted(calibration.by_cores.items()):
        found = outcome.found.get(cores)
        copy = matmul = "-"
        if found is not None:
            name = max(("copy", "torch_copy"), key=lambda name: found.best.get(name, 0.0))
            copy = f"{found.best[name] / 1e9:.1f} ({found.median[name] / 1e9:.1f})"
            matmul = f"{found.best['matmul'] / 1e9:.1f} ({found.median['matmul'] / 1e9:.1f})"
        mark = " *" if cores == calibration.candidate_cores else ""
        kept = f"{row.dram / 1e9:.1f}", f"{row.units['fp32'] / 1e9:.1f}"
        table.add_row(f"{cores}{mark}", copy, kept[0], matmul, kept[1])
    console.print(table)
    console.print(
        pick(
            f"* the cores a candidate gets here; faster than light begins at {CPU_CEILING_MARGIN} x the best",
            f"* 被测程序在此机器上得到的核数；超过最好值的 {CPU_CEILING_MARGIN} 倍即为“超光速”",
        ),
        highlight=False,
    )
    if calibration.llc_bytes is not None:
        cache = calibration.llc_bytes / (1 << 20)
        console.print(pick(f"last-level cache {cache:.0f} MiB", f"末级缓存 {cache:.0f} MiB"), highlight=False)
    _show_constant(calibration, console)
    if calibration.session_spread is not None:
        label = pick(
            "scatter of one program's times in fresh sessions (cv; intervals include it)",
            "同一程序在各次评测之间的时间差异（变异系数，已计入区间）",
        )
        console.print(f"{label}: {calibration.session_spread:.1%}", highlight=False, markup=False)
    for remark in outcome.remarks:
        console.print(say(remark), style="yellow", markup=False, highlight=False)
    console.print(
        pick(f"stored: {outcome.path}", f"已保存：{outcome.path}"),
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    load(calibration.hardware)  # What was stored must be usable; a HardwareError here is a defect.
