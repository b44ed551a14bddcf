"""Pages as people use them, without JavaScript."""

from collections.abc import Callable
from typing import Any

import httpx

Visit = Callable[..., httpx.Client]


def test_who_is_not_logged_in_is_asked_to_and_comes_back(visit: Visit, seed: Any) -> None:
    client = visit()
    answer = client.get(seed.ADDRESS)
    assert answer.status_code == 303
    address = answer.headers["location"]
    assert "value=\"/courses/demo/assignments/kernels/double\"" in client.get(address).text
    answer = client.post("/login", data={"login": "ada", "password": seed.PASSWORD, "next": seed.ADDRESS})
    assert (answer.status_code, answer.headers["location"]) == (303, seed.ADDRESS)
    assert client.get(seed.ADDRESS).status_code == 200
