# solmark: verdict=accepted
# solmark: with=solution.py,shared/right.py
# solmark: name=grpo.py
# The losses, which compute on nothing but tokens, and a step of DAPO.
from right import (
    aggregate,
    dapo_loss,
    dr_grpo_loss,
    gae,
    group_advantages,
    grpo_loss,
    gspo_loss,
    informative_groups,
    opd_loss,
    ppo_loss,
    train_step,
)

__all__ = [
    "aggregate",
    "dapo_loss",
    "dr_grpo_loss",
    "gae",
    "group_advantages",
    "grpo_loss",
    "gspo_loss",
    "informative_groups",
    "opd_loss",
    "ppo_loss",
    "train_step",
]
