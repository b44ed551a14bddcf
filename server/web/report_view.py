"""What the page of a submission shows of its Report: charts and quantities, with their words."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from grader.contract import Measure, Phase, Report, TestResult, TimedResult
from server.web import charts, words
from server.web.render import Reader, percent


@dataclass(frozen=True)
class LegendKey:
    """One entry of the legend: the marker and the resource it stands for."""

    marker: Markup
    name: str


@dataclass(frozen=True)
class Plot:
    """A chart with its legend."""

    svg: Markup
    legend: Sequence[LegendKey]


@dataclass(frozen=True)
class PhaseShare:
    """How long a phase took in all, and its share of the whole session."""

    phase: Phase
    seconds: float
    share: float


def helpers(reader: Reader) -> dict[str, Any]:
    """The functions of this module for a template, in the reader's language."""
    return {
        "light_chart": lambda report, milestones: light_chart(reader, report, milestones),
        "phase_shares": phase_shares,
        "shape_groups": shape_groups,
        "shares_chart": lambda groups: charts.shares(
            [group.seconds for group in groups], reader.gettext("Where the time went")
        ),
        "seconds_text": charts.seconds_text,
        "strip": lambda case: strip(reader, case),
        "value_text": lambda measure: quantity(reader, measure, measure.value),
        "interval_text": lambda measure: (
            f"{quantity(reader, measure, measure.low)} – {quantity(reader, measure, measure.high)}"
        ),
        "bound_text": lambda measure: quantity(reader, measure, measure.bound),
    }


def light_chart(reader: Reader, report: Report, milestones: Sequence[charts.Line]) -> Plot | None:
    """The picture of all timed cases that have a fraction and a bound in seconds; None if there is none."""
    found: list[charts.Point] = []
    for case in report.timed:
        measure = case.measure
        if case.fraction is None or measure is None or measure.unit != "s" or not measure.bound:
            continue
        low = case.fraction if case.fraction_low is None else case.fraction_low
        high = case.fraction if case.fraction_high is None else case.fraction_high
        interval = charts.Interval(low, case.fraction, high)
        found.append(charts.Point(case.case, measure.bound, interval, measure.bound_by or "–"))
    if not found:
        return None
    svg = charts.light(
        found,
        milestones,
        title=reader.gettext("Fraction of the speed of light of each timed case, over its bound"),
        x_label=reader.gettext("bound: least time the hardware needs for the case"),
        y_label=reader.gettext("of the speed of light"),
    )
    binding = sorted({point.bound_by for point in found})
    names = [reader.gettext(words.RESOURCES[name]) if name in words.RESOURCES else name for name in binding]
    return Plot(svg, [LegendKey(charts.marker(index), name) for index, name in enumerate(names)])


def phase_shares(report: Report) -> list[PhaseShare]:
    """The session's phases in order, those that took any time, with their share of the whole."""
    spent: Mapping[Phase, float] = _sums(report)
    whole = max(report.seconds, sum(spent.values())) or 1.0
    return [
        PhaseShare(phase, spent[phase], spent[phase] / whole) for phase in words.PHASES if spent.get(phase)
    ]


def shape_groups(result: TestResult | TimedResult) -> list[tuple[str, str]]:
    """Names of tensors of one shape together, with the shape; parameters where there are no tensors."""
    groups: dict[str, list[str]] = {}
    for name, shape in (result.shapes or result.params).items():
        groups.setdefault(str(shape), []).append(name)
    return [(", ".join(names), shape) for shape, names in groups.items()]


def strip(reader: Reader, case: TimedResult) -> Markup:
    """The rounds of a timed case as dots."""
    median = sorted(case.rounds)[len(case.rounds) // 2]
    label = reader.gettext(
        "%(number)s rounds from %(low)s to %(high)s, median %(median)s",
        number=len(case.rounds),
        low=charts.seconds_text(min(case.rounds)),
        high=charts.seconds_text(max(case.rounds)),
        median=charts.seconds_text(median),
    )
    return charts.strip(case.rounds, None, label)


def quantity(reader: Reader, measure: Measure, value: float | None) -> str:
    """A value of a measure with its unit; seconds with an SI prefix."""
    if value is None:
        return "–"
    if measure.unit == "s":
        return charts.seconds_text(value)
    if measure.unit == "1":
        return percent(value)
    unit = words.UNITS.get(measure.unit)
    number = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"  # Never with an exponent.
    return f"{number} {measure.unit if unit is None else reader.gettext(unit)}"


def _sums(report: Report) -> dict[Phase, float]:
    spent: dict[Phase, float] = defaultdict(float)
    for entry in report.phases:
        spent[entry.phase] += entry.seconds
    return dict(spent)
