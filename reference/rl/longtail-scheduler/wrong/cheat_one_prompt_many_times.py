# solmark: verdict=wrong_answer
# solmark: with=shared/tail.py
# Cheat: fills the batch with copies of the first prompt that is finished.
import tail


class Scheduler(tail.Scheduler):
    def on_event(self, state):
        actions = super().on_event(state)
        full = [prompt for prompt, count in self.open.items() if count == 0]
        if full:
            return [{"kind": "train", "prompts": full[:1] * self.epoch["batch"]}]
        return actions
