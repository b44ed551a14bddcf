"""Whole gradings in real sandboxes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from grader import contract, session
from grader.assignment import load
from grader.contract import Event, Mode, Report
from grader.hardware.profile import Hardware
from grader.sandbox import registry
from grader.sandbox.base import Backend
from tests.grader.session.scale import SEED, Grade, job


@pytest.fixture
def grade(folder: Path) -> Grade:
    """Grade files against the small assignment: `grade(files, mode=..., hardware=..., events=..., **job)`."""
    path = folder / "assignment.toml"
    path.write_text(
        path.read_text("utf-8").replace("rows = 1024, columns = 4096", "rows = 16, columns = 256"), "utf-8"
    )

    def run(
        contents: Mapping[str, bytes],
        *,
        mode: Mode = Mode.TEST,
        hardware: Hardware | None = None,
        events: list[Event] | None = None,
        backend: Backend | None = None,
        holds: bool = False,
        once: bool = False,
        **changes: Any,
    ) -> Report:
        assignment = load(folder)
        report = session.grade(
            job(assignment, contents, mode, **changes),
            assignment,
            contents,
            backend=backend or registry.choose("bubblewrap"),
            hardware=hardware,
            emit=(events if events is not None else []).append,
            seed=SEED,
            node="here",
            holds=holds,
            once=once,
        )
        # Whatever happened, the Report can be sent.
        return contract.read(Report, report.model_dump_json())

    return run
