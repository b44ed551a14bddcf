# solmark: verdict=wrong_answer
# solmark: with=shared/tail.py
# Starts everything again at each event.
import tail


class Scheduler(tail.Scheduler):
    def on_event(self, state):
        actions = super().on_event(state)
        if state["event"] == "finished" and actions == []:
            return [{"kind": "start", "rollout": state["finished"][0], "engine": 0}]
        return actions
