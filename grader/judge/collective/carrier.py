"""Messages between ranks: what was sent and not yet received, and what each rank did in order."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from grader.contract import Verdict
from grader.judge.failure import CandidateFailure
from grader.judge.messages import Receiving, Sending
from grader.messages import text
from grader.network import Receive, Send, Step


@dataclass
class Carrier:
    """Takes and hands out the messages of one call.

    `groups`: by rank, the ranks that it may send to, itself among them. `most_bytes`: of all that a rank may
    send; `region_bytes`: of one message.
    """

    groups: Sequence[Sequence[int]]
    most_bytes: int
    region_bytes: int
    steps: list[list[Step]] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    _queues: dict[tuple[int, int], deque[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.steps = [[] for _ in self.groups]
        self.sent = [0] * len(self.groups)

    def check_send(self, rank: int, message: Sending) -> None:
        """Whether the message may go. Raises CandidateFailure."""
        self._check_peer(rank, message.to, message.named, message.where, "sends a message to", "发送消息")
        if message.bytes > self.region_bytes:
            raise CandidateFailure(
                Verdict.OUTPUT_LIMIT,
                text("comm_message", bytes=message.bytes, limit=self.region_bytes, where=_at(message.where)),
            )
        if self.sent[rank] + message.bytes > self.most_bytes:
            raise CandidateFailure(
                Verdict.OUTPUT_LIMIT,
                text(
                    "comm_too_much",
                    bytes=self.sent[rank] + message.bytes,
                    limit=self.most_bytes,
                    where=_at(message.where),
                ),
            )

    def send(self, rank: int, message: Sending, data: bytes) -> None:
        """Take a message that `check_send` has let pass."""
        self.sent[rank] += len(data)
        self.steps[rank].append(Send(message.to, len(data)))
        self._queues.setdefault((rank, message.to), deque()).append(data)

    def check_receive(self, rank: int, message: Receiving) -> None:
        """Whether there is such a rank to receive from. Raises CandidateFailure."""
        self._check_peer(
            rank, message.source, message.named, message.where, "waits for a message from", "等待消息"
        )

    def receive(self, rank: int, source: int) -> bytes | None:
        """The next message from a rank, None if there is none yet."""
        queue = self._queues.get((source, rank))
        if not queue:
            return None
        self.steps[rank].append(Receive(source))
        return queue.popleft()

    def check_received(self) -> None:
        """Whether every message was received. Raises CandidateFailure for the first that was not."""
        for (source, rank), queue in sorted(self._queues.items()):
            if queue:
                left = text(
                    "comm_unreceived", rank=rank, source=source, count=len(queue), bytes=sum(map(len, queue))
                )
                raise CandidateFailure(Verdict.WRONG_ANSWER, left, alive=True)

    def _check_peer(self, rank: int, peer: int, named: int, where: str, doing: str, doing_zh: str) -> None:
        group = self.groups[rank]
        if peer == rank:
            what = "comm_self"
        elif peer not in group:
            what = "comm_nobody"
        else:
            return
        sentence = text(
            what, doing=doing, doing_zh=doing_zh, named=named, last=len(group) - 1, where=_at(where)
        )
        raise CandidateFailure(Verdict.RUNTIME_ERROR, sentence)


def _at(where: str) -> str:
    return where or "?"
