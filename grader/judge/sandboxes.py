"""The sandboxes of one session: each phase gets a fresh one, and the next one starts ahead of its use.

Importing torch takes a sandbox longer than most tests take. A sandbox that waits has no student code in it.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from grader.contract import Language
from grader.judge.client import Client
from grader.judge.collective.group import Group
from grader.judge.collective.team import Team
from grader.judge.gpu.device import Device
from grader.judge.supervisor import Supervisor
from grader.sandbox.base import Backend, Limits, SandboxError


@dataclass
class Submission:
    """What every sandbox of the session loads."""

    files: Mapping[str, bytes]
    entry_name: str
    artifact: bytes | None = None


@dataclass
class Sandboxes:
    """Starts, hands out and ends the session's clients.

    A pinned client runs on `cpus` alone and lives within `timed_limits`: the judge decides how often it is
    called, so that wall and processor time must suffice for all of that.
    """

    backend: Backend
    limits: Limits
    timed_limits: Limits
    language: Language
    supervisor: Supervisor
    cpus: frozenset[int]
    device: Device | None = None
    """Where the target is a device: a pinned client then has nothing but its ring in it."""
    _spare: dict[str, Client] = field(default_factory=dict)
    _teams: dict[str, Team] = field(default_factory=dict)
    """Ranks that wait for their phase."""
    _groups: dict[str, Group] = field(default_factory=dict)
    _alive: list[Client | Team | Group] = field(default_factory=list)
    _gate: threading.Lock = field(default_factory=threading.Lock)
    """An interrupt closes from another thread: no client may start meanwhile, and none be forgotten."""
    _closed: bool = False

    def ahead(self, purpose: str, arena_bytes: int, *, pinned: bool = False) -> None:
        """Start the client that `take` will hand out for this purpose. Raises SandboxError."""
        if purpose not in self._spare:
            self._spare[purpose] = self._start(arena_bytes, None, pinned=pinned)

    def take(
        self, purpose: str, arena_bytes: int, *, language: Language | None = None, pinned: bool = False
    ) -> Client:
        """A client in which nothing of the submission has run, ready for use. Raises SandboxError.

        `language` is that of the file it will load, by default the submission's.
        """
        client = self._spare.pop(purpose, None) or self._start(arena_bytes, language, pinned=pinned)
        client.ready()
        return client

    def team_ahead(self, purpose: str, ranks: int, arena_bytes: int) -> None:
        """Start the ranks that `take_team` will hand out for this purpose. Raises SandboxError."""
        if purpose not in self._teams:
            self._teams[purpose] = self._start_team(ranks, arena_bytes)

    def take_team(self, purpose: str, ranks: int, arena_bytes: int) -> Team:
        """So many ranks in which nothing of the submission has run, ready for use. Raises SandboxError."""
        team = self._teams.pop(purpose, None) or self._start_team(ranks, arena_bytes)
        team.ready()
        return team

    def group_ahead(self, purpose: str, ranks: int, arena_bytes: int, *, pinned: bool = False) -> None:
        """Start the ranks, in one sandbox, that `take_group` will hand out. Raises SandboxError."""
        if purpose not in self._groups:
            self._groups[purpose] = self._start_group(ranks, arena_bytes, pinned=pinned)

    def take_group(self, purpose: str, ranks: int, arena_bytes: int, *, pinned: bool = False) -> Group:
        """So many ranks in one sandbox, in which nothing of the submission has run. Raises SandboxError."""
        group = self._groups.pop(purpose, None) or self._start_group(ranks, arena_bytes, pinned=pinned)
        group.ready()
        return group

    def release(self, client: Client | Team | Group) -> None:
        """End a client that was taken. Raises SandboxError if something of it is left."""
        self.supervisor.detach(client)
        with suppress(ValueError):
            self._alive.remove(client)
        client.close()

    @contextmanager
    def still(self) -> Iterator[None]:
        """Within, no waiting sandbox runs: frozen where that can be, else waiting for work."""
        frozen = []
        ranks = [rank for team in self._teams.values() for rank in team.ranks]
        waiting: list[Client | Group] = [*self._spare.values(), *self._groups.values(), *ranks]
        for client in waiting:
            freezer = client.process.freezer
            if freezer is None:
                client.ready()
            else:
                freezer.freeze()
                frozen.append(freezer)
        try:
            yield
        finally:
            for freezer in frozen:
                freezer.thaw()

    def close(self) -> None:
        """End all of them, for good. Raises SandboxError if something of one is left."""
        failures = []
        with self._gate:
            self._closed = True
        for client in list(self._alive):
            try:
                self.supervisor.detach(client)
                client.close()
            except SandboxError as error:
                failures.append(error)
        self._alive.clear()
        self._spare.clear()
        self._teams.clear()
        self._groups.clear()
        if failures:
            raise failures[0]

    def _start_team(self, ranks: int, arena_bytes: int) -> Team:
        with self._gate:
            if self._closed:
                raise SandboxError("the session has ended")
            team = Team.start(self.backend, self.limits, ranks, arena_bytes)
            self._alive.append(team)
        self.supervisor.attach(team)
        return team

    def _start_group(self, ranks: int, arena_bytes: int, *, pinned: bool) -> Group:
        with self._gate:
            if self._closed:
                raise SandboxError("the session has ended")
            group = Group.start(
                self.backend,
                self.timed_limits if pinned else self.limits,
                ranks,
                arena_bytes,
                cpus=self.cpus if pinned else None,
            )
            self._alive.append(group)
        self.supervisor.attach(group)
        return group

    def _start(self, arena_bytes: int, language: Language | None, *, pinned: bool) -> Client:
        with self._gate:
            if self._closed:
                raise SandboxError("the session has ended")
            client = Client.start(
                self.backend,
                self.timed_limits if pinned else self.limits,
                arena_bytes=1 if pinned and self.device is not None else arena_bytes,
                language=language or self.language,
                cpus=self.cpus if pinned else None,
                device=self.device,
                device_bytes=arena_bytes,
            )
            self._alive.append(client)
        self.supervisor.attach(client)
        return client
