"""Hand in with: solmark grade rl/longtail-scheduler solution.py"""


class Scheduler:
    """One epoch of rollouts; the README says what `epoch` and `state` hold."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_event(self, state):
        """A list of actions, each a dict with its kind: start, migrate, abort, train, wake."""
        return []  # Your work begins here.
