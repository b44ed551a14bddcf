"""Logs of a worker: one JSON object a line on standard error, what its libraries say included."""

import logging

import structlog

from grader import logs


def configure() -> None:
    """Of ourselves what is worth knowing; of the libraries, warnings only."""
    logs.configure(structlog.processors.JSONRenderer(ensure_ascii=False), logging.WARNING)
    for ours in ("grader", "__main__"):  # The latter is `python -m grader.worker`.
        logging.getLogger(ours).setLevel(logging.INFO)
