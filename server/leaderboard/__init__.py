"""Boards: the best entry of each team, ranked."""
