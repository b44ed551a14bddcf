# solmark: verdict=wrong_answer
# solmark: with=shared/tail.py
# Numbers the rollouts from 1: plans for one that does not exist.
import tail


class Scheduler(tail.Scheduler):
    def fill(self, state):
        return [action | {"rollout": action["rollout"] + 1} for action in super().fill(state)]

    def on_event(self, state):
        finished = [rollout - 1 for rollout in state["finished"]]
        preempted = [rollout - 1 for rollout in state["preempted"]]
        return super().on_event(state | {"finished": finished, "preempted": preempted})

    def begin(self, step):
        super().begin(step)
        # The last one of all first, so that what is wrong shows at once, whatever was drawn.
        last = len(self.epoch["expected"]) * self.group - 1
        self.queue = [last] + [rollout for rollout in self.queue if rollout != last]

    def memory(self, rollout, done):
        return super().memory(min(rollout, len(self.epoch["expected"]) * self.group - 1), done)
