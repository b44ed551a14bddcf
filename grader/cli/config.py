"""What the command line remembers between calls: the server and the token of this machine."""

import json
import os
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

DEFAULT_SERVER = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Config:
    """What `solmark login` remembers. `SOLMARK_SERVER` and `SOLMARK_TOKEN` come first."""

    server: str = DEFAULT_SERVER
    token: str = ""

    @classmethod
    def load(cls) -> Self:
        """From the file that `save` wrote; a file that cannot be read as such counts as none."""
        try:
            found = json.loads(config_file().read_text("utf-8"))
            known = cls(server=str(found["server"]), token=str(found["token"]))
        except (OSError, ValueError, KeyError, TypeError):
            known = cls()
        server = os.environ.get("SOLMARK_SERVER", known.server).rstrip("/")
        token = os.environ.get("SOLMARK_TOKEN")
        if token is None:
            # A token is for the server that gave it: never send it to another one.
            token = known.token if server == known.server else ""
        return cls(server=server, token=token)

    def save(self) -> Path:
        """Write the file, readable by its owner only."""
        path = config_file()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = path.with_suffix(".new")
        temporary.unlink(missing_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(self), file)
        temporary.replace(path)
        return path


def config_file() -> Path:
    """Where the client's configuration lies."""
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "solmark" / "client.json"
