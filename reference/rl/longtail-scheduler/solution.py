# solmark: verdict=accepted
# solmark: with=shared/tail.py
# solmark: reaches=0.8
# solmark: library=none
# Tail batching with a few prompts to spare, longest first, as memory allows.
from tail import Scheduler

__all__ = ["Scheduler"]
