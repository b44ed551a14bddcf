"""What a scheduler may do, as the forms of its answer."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from grader import typed

MAX_ACTIONS = 4096
HOUR_NS = 3600 * 10**9


class Start(typed.Message):
    """Start a rollout on an engine, or go on with one that was preempted."""

    kind: Literal["start"]
    rollout: int = Field(ge=0)
    engine: int = Field(ge=0)


class Migrate(typed.Message):
    """Send a running rollout with its keys and values to another engine."""

    kind: Literal["migrate"]
    rollout: int = Field(ge=0)
    engine: int = Field(ge=0)


class Abort(typed.Message):
    """End a running rollout; its tokens are lost."""

    kind: Literal["abort"]
    rollout: int = Field(ge=0)


class Train(typed.Message):
    """End the step: train on these prompts, all of whose rollouts are finished."""

    kind: Literal["train"]
    prompts: list[Annotated[int, Field(ge=0)]]


class Wake(typed.Message):
    """Ask again after so long, whatever happens until then."""

    kind: Literal["wake"]
    after_ns: int = Field(ge=1, le=HOUR_NS)


Action: TypeAlias = Start | Migrate | Abort | Train | Wake
Actions: TypeAlias = Annotated[
    list[Annotated[Action, Field(discriminator="kind")]], Field(max_length=MAX_ACTIONS)
]
