"""Grading as the server sees it: states, queue, attempts, workers and Reports."""
