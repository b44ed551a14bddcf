"""The map of a course shows a reader what is built, and the reader's own best."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from grader import course
from server.courses import syllabus_map

MAP = Path(__file__).parents[3] / "assignments" / course.FILE


@pytest.fixture
def mapped(tmp_path: Path, seed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The course's map, with the site's assignment under topic 1.4."""
    file = tmp_path / course.FILE
    file.write_text(MAP.read_text("utf-8").replace("kernels/add-rmsnorm", seed.ASSIGNMENT), "utf-8")
    monkeypatch.setattr(syllabus_map, "syllabus", lambda: course.load(file))


@pytest.mark.usefixtures("mapped")
def test_the_map_shows_the_readers_own_best(visit: Callable[..., Any], seed: Any, site: Any) -> None:
    own = f'<a href="/submissions/{site.submissions["accepted"]}">61.0 %</a>'
    page = visit("ada").get("/courses/demo/map").text
    assert own in page
    assert "45 topics, 1 with an assignment, 1 begun by you" in page
    assert f'<a href="{seed.ADDRESS}">{seed.ASSIGNMENT}</a>' in page
    # The assignment of every other topic is named, and said to be missing.
    assert page.count("not yet built") == page.count('scope="row"') - 1
    assert own in visit("ada", "zh").get("/courses/demo/map").text


@pytest.mark.usefixtures("mapped")
def test_nobody_elses_best_is_shown(visit: Callable[..., Any], site: Any) -> None:
    page = visit("tara").get("/courses/demo/map").text
    assert "0 begun by you" in page
    assert "nothing yet" in page
    assert site.submissions["accepted"] not in page


def test_a_faulty_map_costs_the_course_only_its_map(
    visit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / course.FILE
    file.write_text("weeks = 5\n", "utf-8")
    monkeypatch.setattr(course, "find", lambda: file)
    with capture_logs() as logs:
        page = visit("ada").get("/courses/demo")
    assert page.status_code == 200
    assert "/courses/demo/map" not in page.text
    assert visit("ada").get("/courses/demo/map").status_code == 404
    assert [entry["event"] for entry in logs].count("course_map_faulty") == 1
    file.write_text(MAP.read_text("utf-8"), "utf-8")
    assert visit("ada").get("/courses/demo/map").status_code == 200
