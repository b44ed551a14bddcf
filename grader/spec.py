"""What `assignment.toml` and `hidden/cases.toml` may say, as pydantic models.

A field's description completes the sentence "right is ..." when its value is refused.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from grader.contract import JobLimits, Language

ParamValue: TypeAlias = Any
"""A boolean, number, string, or a list of these; in a hidden case also `{ range = [a, b] }` (integers, both
ends included) or `{ choice = [...] }`."""

_SLUG = r"^[a-z0-9]+(?:-[a-z0-9]+)*$"
_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Weight = Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)]
Error = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


class Model(BaseModel):
    """Immutable, no unknown keys, no coercion of strings into numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Title(Model):
    """The assignment's title in both languages of the site."""

    en: str = Field(min_length=1, max_length=120, description="a title of 1 to 120 characters in English")
    zh: str = Field(min_length=1, max_length=120, description="a title of 1 to 120 characters in Chinese")


class PartSpec(Model):
    """One thing that a student hands in."""

    name: str = Field(pattern=_NAME, max_length=64, description="a name like kernel")
    kind: Literal["function", "collective", "dialogue"] = Field(
        description="one of function, collective, dialogue"
    )
    entry: str = Field(
        default="solve", pattern=_NAME, max_length=64, description="the name of the student's function"
    )
    languages: tuple[Language, ...] = Field(
        min_length=1, description="at least one of python, triton, cpp, cuda"
    )
    file: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*\.py$",
        max_length=64,
        description="the name of a Python file of its own that a dialogue is answered from, like predict.py",
    )
    weight: Weight = Field(default=1.0, description="a number above 0")
    tier: int = Field(default=1, ge=1, le=9, description="an integer from 1 to 9")


class MilestoneSpec(Model):
    """A measured solution that fixes one point of the curve from fraction to credit."""

    name: str = Field(min_length=1, max_length=64, description="what reached it, for instance naive")
    name_zh: str = Field(default="", max_length=64, description="the name in Chinese")
    fraction: Annotated[float, Field(gt=0, le=1)] = Field(
        description="the measured fraction of the speed of light, above 0 and at most 1"
    )
    credit: Share = Field(description="the share of the performance points that it earns, from 0 to 1")
    measurement: str = Field(
        pattern=r"^[A-Za-z0-9_.-]+:[^\s:]+$",
        max_length=200,
        description="file:row of benchmarks/results, for instance milestones.h200:add-rmsnorm/naive; "
        "an estimate is no milestone",
    )
    cases: dict[str, Annotated[float, Field(gt=0, le=1)]] = Field(
        default_factory=dict,
        description="the measured fraction by timed case; the row of each is that of the measurement, a "
        "slash, and the case's id",
    )


class TargetSpec(Model):
    """A hardware class that the assignment can be graded on."""

    hardware: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$", description="a hardware class like cpu or h200")
    devices: int = Field(default=1, ge=1, le=64, description="a number of devices from 1 to 64")
    primary: bool = Field(default=False, description="true for the target that counts, false for others")
    languages: tuple[Language, ...] = Field(
        default=(), description="some of python, triton, cpp, cuda; none given means all of the parts'"
    )
    limits: JobLimits = Field(default=JobLimits(), description="a table of limits")
    milestones: tuple[MilestoneSpec, ...] = ()


class ToleranceSpec(Model):
    """Largest relative errors of an output (see `grader.task.Tolerance`)."""

    worst_row: Error = Field(description="the largest row error, above 0 and at most 1")
    mean_row: Error = Field(description="the largest mean row error, above 0 and at most 1")
    worst_element: Annotated[float, Field(gt=0, le=1000)] = Field(
        description="the largest error of an element relative to its row's rms, above 0"
    )


class CaseSpec(Model):
    """One case as written down; hidden ranges are drawn when it is graded."""

    id: str = Field(pattern=_SLUG, max_length=64, description="lower-case words joined by hyphens")
    part: str = Field(max_length=64, description="the name of one of [[parts]]")
    visibility: Literal["public", "hidden"] | None = Field(
        default=None, description="public in assignment.toml, hidden in hidden/cases.toml, or left out"
    )
    role: Literal["test", "timed"] = Field(description="test or timed")
    params: dict[Annotated[str, Field(pattern=_NAME)], ParamValue] = Field(
        default_factory=dict, description="a table of parameters"
    )
    targets: tuple[str, ...] = Field(
        default=(), description="hardware classes of [[targets]]; none given means all"
    )
    languages: tuple[Language, ...] = Field(
        default=(), description="some of the part's languages; none given means all"
    )
    linked: bool = Field(default=False, description="true or false")
    tolerance: dict[str, ToleranceSpec] = Field(
        default_factory=dict, description="tables by output name, or one for *"
    )


class ForbidSpec(Model):
    """Advice to staff: names that a solution should not use. Never a verdict by itself."""

    names: tuple[str, ...] = Field(default=(), description="a list of dotted names")


class SandboxSpec(Model):
    """What programs find in their sandbox beside what every assignment has."""

    packages: tuple[
        Annotated[
            str,
            Field(
                pattern=r"^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[a-z0-9,_-]+\])?==[A-Za-z0-9.+!_-]+$",
                max_length=128,
            ),
        ],
        ...,
    ] = Field(default=(), max_length=32, description='packages with exact versions, as in ["einops==0.8.1"]')


class PointsSpec(Model):
    """How points are made: the two shares add up to 1."""

    correctness: Share = Field(default=0.4, description="a share from 0 to 1")
    performance: Share = Field(default=0.6, description="a share from 0 to 1")
    curve: Literal["milestones"] = Field(default="milestones", description='"milestones"')
    floor: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.1, description="the fraction that earns nothing as long as there are no milestones"
    )
    total: Weight = Field(default=100.0, description="points for a full score, above 0")


class Spec(Model):
    """The content of `assignment.toml`."""

    id: str = Field(
        pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*/[a-z0-9]+(?:-[a-z0-9]+)*$",
        max_length=128,
        description="track/slug, for instance kernels/add-rmsnorm",
    )
    title: Title = Field(description="a table with en and zh")
    topics: tuple[Annotated[str, Field(pattern=r"^[0-9]\.[0-9]{1,2}$")], ...] = Field(
        min_length=1, description='numbers of the syllabus as strings, for instance ["1.4"]'
    )
    weight: Weight = Field(default=1.0, description="a number above 0")
    parts: tuple[PartSpec, ...] = Field(min_length=1, description="at least one [[parts]]")
    targets: tuple[TargetSpec, ...] = Field(min_length=1, description="at least one [[targets]]")
    cases: tuple[CaseSpec, ...] = Field(min_length=1, description="at least one [[cases]]")
    forbid: ForbidSpec = ForbidSpec()
    sandbox: SandboxSpec = SandboxSpec()
    points: PointsSpec = PointsSpec()

    def target(self, hardware: str) -> TargetSpec | None:
        """The target of a hardware class, None if the assignment has none."""
        return next((target for target in self.targets if target.hardware == hardware), None)

    def part(self, name: str) -> PartSpec | None:
        """The part of that name."""
        return next((part for part in self.parts if part.name == name), None)

    def milestones(self, hardware: str) -> list[tuple[float, float]]:
        """(fraction, credit) along a target's curve; without milestones from `points.floor` to 1."""
        target = self.target(hardware)
        if target is None or not target.milestones:
            return [(self.points.floor, 0.0), (1.0, 1.0)]
        return [(milestone.fraction, milestone.credit) for milestone in target.milestones]

    def reference(self, hardware: str) -> Mapping[str, float]:
        """By timed case, the fraction that a target's best milestone reached; empty where it does not say."""
        target = self.target(hardware)
        milestones = target.milestones if target is not None else ()
        return max(milestones, key=lambda milestone: milestone.credit).cases if milestones else {}


class HiddenSpec(Model):
    """The content of `hidden/cases.toml`."""

    cases: tuple[CaseSpec, ...] = Field(min_length=1, description="at least one [[cases]]")


def is_drawn(value: ParamValue) -> bool:
    """Whether a parameter is drawn anew for each grading."""
    return isinstance(value, Mapping)
