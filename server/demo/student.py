"""A student of the demo as the site sees one: logs in, submits and looks, over HTTP."""

import time
from collections.abc import Set
from typing import Any, Self

import httpx

from grader.contract import Mode, Verdict
from server.demo.course import COURSE
from server.demo.entrants import Entry

PAGE = 200
"""Most items that the server gives at once."""


class Submitted:
    """One submission of the demo, followed until it is final."""

    def __init__(self, client: httpx.Client, entry: Entry, created: dict[str, Any]) -> None:
        self.entry = entry
        self.found = created
        self.seconds = 0.0
        """From submission to the end."""
        self.as_expected = False
        """Whether it is final with the verdict that `reference/` names.

        A noisy machine may keep the time of a right solution from settling: then its tests decide.
        """
        self._client = client
        self._started = time.monotonic()

    @property
    def final(self) -> bool:
        """Whether it is graded, or will never be."""
        return bool(self.found["final"])

    def look(self) -> None:
        """Ask for its state again."""
        self.learn(_json(self._client.get(f"submissions/{self.found['id']}")))

    def report(self) -> dict[str, Any]:
        """Its Report, as the student may see it."""
        return _json(self._client.get(f"submissions/{self.found['id']}/report"))

    def learn(self, found: dict[str, Any]) -> None:
        """This is its state now."""
        self.found = found
        self.seconds = time.monotonic() - self._started
        self.as_expected = self.final and self._is_as_expected()

    def _is_as_expected(self) -> bool:
        if self.found["verdict"] is None:
            return False
        verdict = Verdict(self.found["verdict"])
        if verdict is Verdict.UNSTABLE_TIMING and self.entry.expected is Verdict.ACCEPTED:
            return self._tests_passed()
        return verdict is self.entry.expected

    def _tests_passed(self) -> bool:
        report = self.report()
        ran = [test["verdict"] for test in report["tests"] if test["verdict"] is not None]
        hidden = report["hidden"] is None or report["hidden"]["passed"] is not False
        return set(ran) == {Verdict.ACCEPTED.value} and hidden


class Student:
    """Somebody's session by API token; close it when done."""

    def __init__(self, url: str, login: str, password: str) -> None:
        self._client = httpx.Client(base_url=f"{url}/api/v1/", timeout=30.0)
        body = {"name": "demo", "login": login, "password": password}
        token = _json(self._client.post("tokens", json=body))["token"]
        self._client.headers["Authorization"] = f"Bearer {token}"

    def submit(self, entry: Entry, mode: Mode = Mode.GRADE) -> Submitted:
        """Hand in the entry's files under the names that they must have."""
        form = {"mode": mode.value, **({"language": entry.language} if entry.language else {})}
        response = self._client.post(
            f"courses/{COURSE}/assignments/{entry.assignment}/submissions",
            data=form,
            files=[
                ("files", (name, path.read_bytes(), "application/octet-stream"))
                for name, path in entry.files.items()
            ],
        )
        return Submitted(self._client, entry, _json(response))

    def follow(self, identity: str, *, seconds: float) -> None:
        """Until the server's events say that it is final, as the page and the command line hear of it.

        Raises RuntimeError if that takes longer, or the events end before.
        """
        deadline = time.monotonic() + seconds
        with self._client.stream("GET", f"submissions/{identity}/events") as response:
            if response.is_error:
                response.read()
                raise RuntimeError(f"{response.request.url}: {response.text}")
            for line in response.iter_lines():
                if line == "event: final":
                    return
                if time.monotonic() > deadline:
                    break
        raise RuntimeError(f"{identity} is not final")

    def everything(self, ids: Set[str]) -> dict[str, dict[str, Any]]:
        """Those submissions of the course by id, as its staff see them: few questions in place of many.

        Others may submit at the same time: the list is read on, from the newest, until all are found.
        """
        found: dict[str, dict[str, Any]] = {}
        query: dict[str, Any] = {"everyone": True, "limit": PAGE}
        while ids - found.keys():
            page = _json(self._client.get(f"courses/{COURSE}/submissions", params=query))
            found |= {item["id"]: item for item in page["items"] if item["id"] in ids}
            if page["next"] is None:
                break
            query["after"] = page["next"]
        return found

    def unfinished(self) -> list[dict[str, Any]]:
        """Those of the course's newest submissions that wait or run, as its staff see them."""
        query = {"everyone": True, "limit": PAGE}
        found = _json(self._client.get(f"courses/{COURSE}/submissions", params=query))
        return [item for item in found["items"] if not item["final"]]

    def cancel(self, identity: str) -> None:
        """Stop one of their own submissions; one that has become final meanwhile is left as it is."""
        self._client.post(f"submissions/{identity}/cancel")

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def board(url: str, assignment: str) -> dict[str, Any]:
    """The public board, as anybody may read it."""
    with httpx.Client(base_url=f"{url}/api/v1/", timeout=30.0) as client:
        return _json(client.get(f"courses/{COURSE}/assignments/{assignment}/board", params={"limit": PAGE}))


def _json(response: httpx.Response) -> dict[str, Any]:
    if response.is_error:
        raise RuntimeError(f"{response.request.method} {response.request.url}: {response.text}")
    found: dict[str, Any] = response.json()
    return found
