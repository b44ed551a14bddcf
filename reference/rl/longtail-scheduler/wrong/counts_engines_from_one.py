# solmark: verdict=wrong_answer
# solmark: with=shared/tail.py
# Numbers the engines from 1.
import tail


class Scheduler(tail.Scheduler):
    def fill(self, state):
        actions = super().fill(state)
        return [action | {"engine": action["engine"] + 1} for action in actions]
