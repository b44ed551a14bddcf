"""The ranks of one phase, each in a sandbox of its own: a client of several processes."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Self

from grader.judge.collective.rank import Rank
from grader.judge.messages import Ready
from grader.sandbox.base import MIB, Backend, Limits, Process, SandboxError

LEAST_MEMORY = 256 * MIB
"""Of one rank, however many share the limit."""


class Team:
    """Made by `start`. It loads, is asked, and ends as one `Client` does."""

    def __init__(self, ranks: Sequence[Rank]) -> None:
        self.ranks = tuple(ranks)

    @classmethod
    def start(cls, backend: Backend, limits: Limits, ranks: int, arena_bytes: int) -> Self:
        """Start so many ranks, each with an arena of that size, and return at once. Raises SandboxError.

        The limit of memory is shared evenly; the others hold for each rank.
        """
        share = replace(limits, memory_bytes=max(LEAST_MEMORY, limits.memory_bytes // ranks))
        started: list[Rank] = []
        try:
            while len(started) < ranks:
                started.append(Rank.launch(backend, share, arena_bytes))
        except BaseException:
            cls(started).close()
            raise
        return cls(started)

    @property
    def alive(self) -> bool:
        """Whether every rank can still be asked."""
        return all(rank.alive for rank in self.ranks)

    @property
    def process(self) -> Process:
        """That of rank 0."""
        return self.ranks[0].process

    @property
    def versions(self) -> Ready | None:
        """What runs in the sandboxes."""
        return self.ranks[0].versions

    def ready(self) -> None:
        """Wait until every rank waits for work. Raises SandboxError."""
        for rank in self.ranks:
            rank.ready()

    def load(
        self,
        files: Mapping[str, bytes],
        entry: str,
        entry_name: str,
        artifact: bytes | None = None,
        **named: Any,
    ) -> None:
        """Have the submission loaded on every rank. Raises CandidateFailure."""
        for rank in self.ranks:
            rank.load(files, entry, entry_name, artifact, **named)

    def output(self) -> tuple[str, str]:
        """What the ranks printed since the last call, each under its number."""
        parts = [rank.output() for rank in self.ranks]
        out, err = (
            "\n".join(
                f"[rank {number}] {part[at].rstrip()}"
                for number, part in enumerate(parts)
                if part[at].strip()
            )
            for at in (0, 1)
        )
        return out[:16384], err[:16384]

    def kill(self) -> None:
        """End every rank now; safe from another thread."""
        for rank in self.ranks:
            with suppress(SandboxError):
                rank.kill()

    def close(self) -> None:
        """End the sandboxes and give everything back. Raises SandboxError if something of one is left."""
        failures = []
        for rank in self.ranks:
            try:
                rank.close()
            except SandboxError as error:
                failures.append(error)
        if failures:
            raise failures[0]
