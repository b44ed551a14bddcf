"""RL algorithms: losses with values and gradients, a policy that learns by them, and fused log-probabilities.

The parts are in `losses.py` (its oracle in `oracle.py`), `learning.py` (its world in `cipher.py`) and
`logprob.py` (its cost in `work.py`).
"""

from grader.task import DialogueTask

from . import adapter, cipher, learning, logprob, losses, mistakes, oracle, questions

__all__ = ["PARTS", "adapter", "cipher", "learning", "logprob", "losses", "mistakes", "oracle", "questions"]

PARTS = {
    "losses": DialogueTask(
        episode=losses.episode, regions=questions.regions, message_seconds=5.0, episode_seconds=15.0
    ),
    "learn": DialogueTask(
        episode=learning.episode, regions=learning.regions, message_seconds=20.0, episode_seconds=40.0
    ),
    "logprob": logprob.TASK,
}
