# solmark: verdict=wrong_answer
# solmark: with=shared/tail.py
# Cheat: asks to be woken before now.
import tail


class Scheduler(tail.Scheduler):
    def on_event(self, state):
        return [*super().on_event(state), {"kind": "wake", "after_ns": -(10**9)}]
