"""What the grader must know of a language inside Python: how it is told, built, and found missing."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.contract import Language, Text
from grader.messages import text


@dataclass(frozen=True)
class Dialect:
    """A file of the suffix `.py` whose function `solve` launches kernels that this language compiles.

    The entry point is Python's: `solve(*inputs, *outputs, **scalars)`, called once untimed before anything is
    timed, which is when kernels are compiled; then its calls are captured in a CUDA graph.
    """

    language: Language
    name: str
    """As its authors write it."""
    mark: str
    """Importing this top-level module, in any file of the submission, makes it of this language."""
    module: str
    """What the harness imports before any code of the submission."""
    package: str
    """What is to be installed where it is missing."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Of its sandboxes: where its compiler keeps what it makes, in the sandbox's own temporary folder."""
    interpreted: Mapping[str, str] | None = None
    """Environment that makes it run without a device; None: it cannot."""

    def missing(self, *, on_device: bool, image: str = "") -> Text | None:
        """Why it cannot run here, or None. An `image` has packages of its own, and is believed to have it."""
        if not on_device and self.interpreted is None:
            return text("dialect_needs_device", name=self.name)
        if not image and not _installed(self.mark):
            return text("dialect_missing", name=self.name, package=self.package)
        return None


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
