"""Solmark's grader: runs on a laptop and on a grading node, and knows nothing of the server."""
