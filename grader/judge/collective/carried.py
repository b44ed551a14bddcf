"""A call whose messages the judge carries: each rank alone in a sandbox, its regions behind its slots."""

from collections.abc import Sequence

from grader.judge.authored import Watch
from grader.judge.collective import authored
from grader.judge.collective.carrier import Carrier
from grader.judge.collective.rank import Rank
from grader.judge.collective.run import Run
from grader.judge.collective.switchboard import Switchboard
from grader.judge.collective.team import Team
from grader.judge.layout import ALIGN
from grader.network import Step
from grader.task import Case, CollectiveTask

LEAST_REGION = 64 << 10
"""Bytes that one message may have, however small the tensors are."""


def region_bytes(task: CollectiveTask, case: Case, watch: Watch) -> int:
    """Most bytes of one message: twice all tensors of a call, and never few."""
    size = max(LEAST_REGION, 2 * authored.slot_size(task, case, watch))
    return -(-size // ALIGN) * ALIGN


def call(team: Team, run: Run, entry: str, call_seconds: float) -> Sequence[Sequence[Step]]:
    """All calls of a case; what each rank sent and received. Raises CandidateFailure."""
    task, case, watch = run.task, run.case, run.watch
    ranks = team.ranks[: run.ranks]
    region = region_bytes(task, case, watch)
    calls = len(run.slots[0])
    carrier = Carrier(
        authored.groups(task, case, watch), calls * authored.most_bytes(task, case, watch), region
    )
    start = -(-max(mine[-1].end for mine in run.slots) // ALIGN) * ALIGN
    regions = (start, start + region)
    for rank, client in enumerate(ranks):
        _join(run, client, rank, carrier.groups[rank], regions)
        run.provide(rank, client, entry)
    Switchboard(ranks, regions, carrier).call(calls, call_seconds)
    return carrier.steps


def _join(run: Run, client: Rank, rank: int, group: Sequence[int], regions: tuple[int, int]) -> None:
    """Tell a rank who it is; of an uneven network it learns the dearest path."""
    alpha, byte = 0, 0
    if run.task.network is not None:
        network = authored.network(run.task, run.case, run.watch)
        routes = [network.route(a, b) for a in range(run.ranks) for b in range(run.ranks) if a != b]
        alpha = max((route.alpha_ps for route in routes), default=0)
        byte = max((route.byte_ps for route in routes), default=0)
    client.join(
        rank=list(group).index(rank),
        members=list(group),
        regions=regions,
        size=regions[1] - regions[0],
        alpha_ns=alpha / 1000,
        byte_ns=byte / 1000,
    )
