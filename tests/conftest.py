"""Order of the whole suite: what needs a quiet machine runs by itself, last."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("alone") is not None)
