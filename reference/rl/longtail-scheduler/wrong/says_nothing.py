# solmark: verdict=wrong_answer
# solmark: with=shared/tail.py
# Returns None where there is nothing to do.
import tail


class Scheduler(tail.Scheduler):
    def on_event(self, state):
        return super().on_event(state) or None
