"""The judge and the naive grader of one run, with the honest programs' times in it."""

import pytest

from tests.attacks.corpus import chosen
from tests.attacks.grading import Judged, Naive


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "attack" in metafunc.fixturenames:
        drawn = chosen()
        metafunc.parametrize("attack", drawn, ids=[attack.path.name for attack in drawn])


@pytest.fixture(scope="session")
def judged() -> Judged:
    """The real judge."""
    return Judged()


@pytest.fixture(scope="session")
def naive(tmp_path_factory: pytest.TempPathFactory) -> Naive:
    """The naive grader."""
    return Naive(tmp_path_factory.mktemp("victim"))
