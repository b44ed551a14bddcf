# solmark: verdict=wrong_answer
# solmark: with=shared/tail.py
# Cheat: trains the shortest prompts in every step and leaves the long ones out.
import tail


class Scheduler(tail.Scheduler):
    def train(self, full):
        actions = super().train(full)
        self.left |= set(actions[0]["prompts"])
        return actions
