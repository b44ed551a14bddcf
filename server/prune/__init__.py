"""Removes old logs, and files that nothing refers to any more, by the policy of the settings."""

from server.prune.prune import Pruned, prune

__all__ = ["Pruned", "prune"]
