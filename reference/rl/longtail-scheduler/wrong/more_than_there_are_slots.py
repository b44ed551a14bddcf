# solmark: verdict=wrong_answer
# solmark: with=shared/tail.py
# Looks at memory alone and not at the slots.
import tail


class Scheduler(tail.Scheduler):
    def __init__(self, epoch):
        super().__init__(epoch | {"slots": 1000})
