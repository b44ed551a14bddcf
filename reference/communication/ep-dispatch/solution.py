# solmark: verdict=accepted
# solmark: with=shared/exchange.py
# solmark: reaches=0.95
# solmark: library=none
# Counts first, then every token once in an order that all ranks have worked out alike.
from exchange import combine, dispatch

__all__ = ["combine", "dispatch"]
