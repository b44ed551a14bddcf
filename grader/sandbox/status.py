"""bubblewrap's JSON status stream: the pid of the namespace's init, and the exit code of the program."""

import contextlib
import json
import os

_READ_BYTES = 4096


class Status:
    """Read end of the stream; `poll` takes what has arrived. Only bwrap's monitor has the other end."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._text = b""
        self.init_pid: int | None = None
        """Pid, as we see it, of the first process in the namespace; it may have ended since."""
        self.exit_code: int | None = None
        """Code of the program, 128 + n if signal n ended it; None while it runs, or was never started."""

    def poll(self) -> None:
        """Read what is there without waiting."""
        with contextlib.suppress(BlockingIOError):
            self._text += os.read(self.descriptor, _READ_BYTES)
        *lines, self._text = self._text.split(b"\n")
        for line in lines:
            if not line.startswith(b"{"):
                continue
            document = json.loads(line)
            self.init_pid = document.get("child-pid", self.init_pid)
            self.exit_code = document.get("exit-code", self.exit_code)
