# solmark: verdict=wrong_answer
# solmark: with=shared/tail.py
# Never starts again what was preempted.
import tail


class Scheduler(tail.Scheduler):
    trust = 0.0

    def memory(self, rollout, done):
        return 0

    def on_event(self, state):
        return super().on_event(state | {"preempted": []})
