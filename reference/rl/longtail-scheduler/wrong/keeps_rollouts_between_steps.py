# solmark: verdict=wrong_answer
# solmark: with=shared/tail.py
# Counts rollouts that were finished in an earlier step and not trained then.
import tail


class Scheduler(tail.Scheduler):
    more = 1.0
    open: dict = {}

    def begin(self, step):
        before = self.open
        super().begin(step)
        self.open = {prompt: before.get(prompt, count) for prompt, count in self.open.items()}
