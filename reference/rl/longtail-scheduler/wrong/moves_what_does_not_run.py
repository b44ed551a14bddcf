# solmark: verdict=wrong_answer
# solmark: with=shared/tail.py
# Migrates a rollout that has just ended.
import tail


class Scheduler(tail.Scheduler):
    def on_event(self, state):
        moves = [{"kind": "migrate", "rollout": rollout, "engine": 0} for rollout in state["finished"]]
        return moves + super().on_event(state)
