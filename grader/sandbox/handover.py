"""What a container's first process is given: a socket in a folder of the session, and what goes through it.

The folder is mounted read-only in the container. The socket serves one connection, is sent one message with
all descriptors, and is closed and gone before the program starts.
"""

import array
import contextlib
import json
import os
import select
import shutil
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.sandbox import pidfd
from grader.sandbox.base import SandboxError
from grader.sandbox.mounts import Stub

FOLDER = Path("/run/solmark/docker")
"""One folder for each session, named like its container."""
INSIDE = "/solmark/session"
_SOCKET = "socket"
INSIDE_SOCKET = f"{INSIDE}/{_SOCKET}"
_CREDENTIALS = struct.Struct("3i")
_PAUSE_SECONDS = 0.05


@dataclass(frozen=True)
class Handover:
    """The session's folder and listening socket; `close` removes both and may be called twice."""

    folder: Path
    _listener: socket.socket
    _uid: int

    @classmethod
    def open(cls, name: str, uid: int, stubs: Sequence[Stub]) -> "Handover":
        """Make the folder, with these files in it, and listen there."""
        folder = FOLDER / name
        folder.mkdir(mode=0o755, parents=True)
        listener = socket.socket(socket.AF_UNIX)
        made = cls(folder, listener, uid)
        try:
            folder.chmod(0o755)  # whatever the umask
            for stub in stubs:
                path = folder / Path(stub.path).name
                path.write_text(stub.content)
                path.chmod(0o444)
            listener.bind(str(folder / _SOCKET))
            os.chown(folder / _SOCKET, uid, uid)
            (folder / _SOCKET).chmod(0o600)
            listener.listen(1)
        except BaseException:
            made.close()
            raise
        return made

    def send(self, document: Mapping[str, Any], descriptors: list[int], first: int, deadline: float) -> None:
        """Wait for the container's first process, whose pidfd is `first`, and give it all this.

        Raises SandboxError if it ends or `deadline` (of time.monotonic()) passes before, or another connects.
        """
        poller = select.poll()
        poller.register(self._listener, select.POLLIN)
        while not poller.poll(_PAUSE_SECONDS * 1e3):
            if pidfd.ended(first):
                raise SandboxError("the container ended before it could be given its program")
            if time.monotonic() > deadline:
                raise SandboxError("the container's first process did not ask for its program")
        peer, _ = self._listener.accept()
        with peer:
            peer.settimeout(max(deadline - time.monotonic(), 0.1))
            size = _CREDENTIALS.size
            pid, uid, _ = _CREDENTIALS.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
            if uid != self._uid or not pidfd.is_of(first, pid):
                raise SandboxError(f"process {pid} of user {uid} asked for the program, not the container")
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
            data = json.dumps(document).encode()
            sent = peer.sendmsg([data], [rights])
            peer.sendall(data[sent:])

    def shut(self) -> None:
        """Stop listening and remove the socket: from now on nobody can ask."""
        self._listener.close()
        (self.folder / _SOCKET).unlink(missing_ok=True)

    def close(self) -> None:
        """Remove the folder too."""
        self.shut()
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.folder)
