# solmark: verdict=accepted
# solmark: with=shared/pipeline.py
# solmark: reaches=0.95
# solmark: library=none
# Iterative modulo scheduling, in many orders; loads as late as their readers allow.
from pipeline import schedule

__all__ = ["schedule"]
