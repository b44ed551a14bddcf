# solmark: verdict=wrong_answer
# solmark: with=shared/tail.py
# Cheat: trains rollouts whose tokens are still to come.
import tail


class Scheduler(tail.Scheduler):
    def on_event(self, state):
        actions = super().on_event(state)
        if state["event"] == "finished" and self.open:
            return [{"kind": "train", "prompts": list(self.open)[: self.epoch["batch"]]}]
        return actions
