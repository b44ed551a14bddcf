"""The harness of one rank among several that run at the same time and talk to each other over loopback.

The process group is torch's, over gloo, and meets in a file of a name that the judge has drawn: no port and
no name is ever that of another run.
"""

import os
import re
from datetime import timedelta
from typing import Any

from . import frames
from .failures import SubmissionError
from .harness import Harness

_BACKEND = "gloo"
_GONE = re.compile(r"[Cc]onnection (closed|reset) by peer|Socket closed|Broken pipe")
"""What gloo says where another rank has left."""


class TogetherHarness(Harness):
    """One of `ranks` harnesses; `meeting` is the folder that all of them share."""

    def __init__(self, language: str, rank: int, ranks: int, meeting: str) -> None:
        super().__init__(language, 0)
        import torch

        torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // ranks))
        self._rank = rank
        self._meeting = meeting

    def _obey(self, kind: str, command: dict[str, Any]) -> None:
        if kind == "join":
            self._leave()
            if command["size"]:
                self._join(command)
            frames.send({"type": "opened", "id": command["id"]})
            return
        try:
            if kind == "call" and "calls" in command:
                for slot in range(command["calls"]):
                    self._code.call(slot)
                frames.send({"type": "called", "id": command["id"]})
            else:
                super()._obey(kind, command)
        except SubmissionError as error:
            # The others then learn at once that they wait for nobody.
            self._leave()
            if _GONE.search(error.text):
                raise SubmissionError("aborted", error.text) from error
            raise

    def _join(self, command: dict[str, Any]) -> None:
        import torch.distributed as dist

        size = command["size"]
        dist.init_process_group(
            _BACKEND,
            init_method=f"file://{self._meeting}/{command['meeting']}",
            rank=self._rank,
            world_size=size,
            timeout=timedelta(seconds=command["seconds"]),
        )

    @staticmethod
    def _leave() -> None:
        import torch.distributed as dist

        if dist.is_initialized():
            dist.destroy_process_group()
