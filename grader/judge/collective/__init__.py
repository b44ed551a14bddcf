"""Collectives: the same function on several ranks."""
