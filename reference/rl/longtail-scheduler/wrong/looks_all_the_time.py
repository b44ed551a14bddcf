# solmark: verdict=wrong_answer
# solmark: with=shared/tail.py
# Asks to be woken every microsecond.
import tail


class Scheduler(tail.Scheduler):
    def on_event(self, state):
        return [*super().on_event(state), {"kind": "wake", "after_ns": 1000}]
