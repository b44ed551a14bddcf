"""The students of a chaos run: they hand in, cancel and look, and write down all that they were told.

Their log is the only witness of the audit: what they know is what the server answered.
"""

import json
import random
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.chaos.assignment import COURSE
from tests.chaos.plan import Work, filler

FINAL = frozenset({"done", "cancelled", "grader_error"})
LOOK_SECONDS = 1.5
ANSWER_SECONDS = 900.0
"""For one answer: a machine that stands still for minutes has lost nothing."""
PAGE = 200


class Log:
    """Lines of JSON, in the order in which things happened."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._lock = threading.Lock()

    def write(self, event: str, **fields: Any) -> None:
        """One thing that happened."""
        with self._lock:
            self._file.write(json.dumps({"time": time.time(), "event": event, **fields}) + "\n")
            self._file.flush()

    def close(self) -> None:
        """No more."""
        self._file.close()


@dataclass
class Seen:
    """What a student knows of one submission."""

    id: str
    work: Work
    state: str = ""
    text: str = ""
    """What was last seen of it."""
    told: float = field(default_factory=time.monotonic)
    reruns: int = 0


class Student:
    """One student, with two threads: one hands in, one looks."""

    def __init__(self, number: int, url: str, token: str, log: Log, works: Sequence[Work], seed: int) -> None:
        self.number = number
        self.name = f"s{number:02}"
        self.works = {work.nonce: work for work in works}
        self.seen: dict[str, Seen] = {}
        self.unanswered: set[str] = set()
        """Nonces of what was sent without an answer: it was taken, or not."""
        self.finished = threading.Event()
        """All that was planned is handed in."""
        self.more, self.enough = threading.Event(), threading.Event()
        """From the first to the second, this student hands in more, so that there is something to disturb."""
        self._url = url
        self._token = token
        self._log = log
        self._random = random.Random(seed)
        self._client = httpx.Client(
            base_url=f"{url}/api/v1/",
            headers={"Authorization": f"Bearer {token}"},
            timeout=ANSWER_SECONDS,
        )
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=target, daemon=True) for target in (self._work, self._watch)]
        self.failure: BaseException | None = None

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End both threads, and say what went wrong in them."""
        self._stopping.set()
        self.enough.set()
        for thread in self._threads:
            thread.join()
        if self.failure is not None:
            raise self.failure

    @property
    def is_handing_in(self) -> bool:
        """Whether more may come."""
        return self._threads[0].is_alive()

    # What it does.

    def _work(self) -> None:
        try:
            for work in list(self.works.values()):
                while not self._stopping.is_set() and not self.hand_in(work):
                    self._stopping.wait(self._random.uniform(0.2, 0.8))
                self._stopping.wait(self._random.uniform(0.0, 0.1))
            self.finished.set()
            while not (self.more.is_set() or self.enough.is_set()):
                self.more.wait(LOOK_SECONDS)
            while not self.enough.wait(self._random.uniform(2.0, 8.0)):
                work = filler(self._random, self.number, len(self.works))
                self.works[work.nonce] = work
                self.hand_in(work)
        except BaseException as error:  # noqa: BLE001  told by `stop`
            self.failure = error

    def hand_in(self, work: Work) -> bool:
        """Whether that is settled: answered, refused for good, or dead without an answer."""
        body = {"files": {"solution.py": work.source()}, "mode": work.mode}
        path = f"courses/{COURSE}/assignments/{work.assignment}/submissions"
        if work.fate != "answered":
            return self._die_sending(work, path, json.dumps(body).encode())
        try:
            answer = self._client.post(path, json=body)
        except httpx.ConnectError:
            return False  # Nobody was there: nothing was sent.
        except httpx.HTTPError as error:
            return self._has_no_answer(work, repr(error))
        if answer.status_code == 201:
            found = answer.json()
            self._learn(found["id"], work, "answered", found)
            return True
        code = _code(answer)
        if answer.status_code >= 500:
            self._stopping.wait(self._random.uniform(0.2, 0.8))
            return self._has_no_answer(work, f"{answer.status_code} {code}")
        if code == "too_many_queued":
            return False
        self._log.write("refused", student=self.name, nonce=work.nonce, code=code, assignment=work.assignment)
        return True

    def _has_no_answer(self, work: Work, cause: str) -> bool:
        """It may have been taken. Another one, of another content, takes its place."""
        self.unanswered.add(work.nonce)
        self._log.write("unanswered", student=self.name, nonce=work.nonce, cause=cause)
        again = Work(**{**work.__dict__, "nonce": f"{work.nonce}+"})
        self.works[again.nonce] = again
        while not self._stopping.is_set() and not self.hand_in(again):
            self._stopping.wait(self._random.uniform(0.2, 0.8))
        return True

    def _die_sending(self, work: Work, path: str, body: bytes) -> bool:
        """Send a half of the request, or all of it, and go away."""
        address = urlsplit(self._url)
        head = "\r\n".join(
            [
                f"POST /api/v1/{path} HTTP/1.1",
                f"Host: {address.netloc}",
                f"Authorization: Bearer {self._token}",
                "Content-Type: application/json",
                f"Content-Length: {len(body)}",
                "\r\n",
            ]
        ).encode()
        sent = head + (body if work.fate == "deaf" else body[: len(body) // 2])
        try:
            with socket.create_connection(
                (address.hostname or "", address.port or 80), timeout=5.0
            ) as client:
                client.sendall(sent)
        except OSError:
            pass
        self.unanswered.add(work.nonce)
        self._log.write(
            "unanswered", student=self.name, nonce=work.nonce, cause=f"connection died: {work.fate}"
        )
        return True

    def _learn(self, identity: str, work: Work, event: str, found: Mapping[str, Any]) -> None:
        self._log.write(
            event, student=self.name, id=identity, nonce=work.nonce, assignment=work.assignment,
            kind=work.kind, mode=work.mode, number=found["number"], fraction=work.score,
        )  # fmt: skip
        self.seen.setdefault(identity, Seen(identity, work))

    # What it sees.

    def _watch(self) -> None:
        try:
            while not self._stopping.wait(LOOK_SECONDS * self._random.uniform(0.7, 1.3)):
                try:
                    for found in self.listing():
                        self._look(found)
                    self._cancel_some()
                except httpx.HTTPError:
                    continue  # It is away, and comes back.
        except BaseException as error:  # noqa: BLE001  told by `stop`
            self.failure = error

    def listing(self) -> list[dict[str, Any]]:
        """All submissions of this student. Raises HTTPError."""
        items: list[dict[str, Any]] = []
        after = 0
        while True:
            page = self.get(f"courses/{COURSE}/submissions", limit=PAGE, after=after)
            items += page["items"]
            if not page["next"]:
                return items
            after = page["next"]

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """An answer that is a success. Raises HTTPError."""
        answer = self._client.get(path, params=query)
        answer.raise_for_status()
        document: dict[str, Any] = answer.json()
        return document

    def _look(self, found: Mapping[str, Any]) -> None:
        seen = self.seen.get(found["id"])
        if seen is None:
            return  # Taken a moment ago, and not yet answered; or without an answer: the audit asks.
        self.note(seen, found)

    def note(self, seen: Seen, found: Mapping[str, Any]) -> None:
        """Write down what is new; of what is final, anything that changes."""
        keys = ("state", "verdict", "points", "fraction", "finished") if found["final"] else ("state",)
        state = json.dumps([found[key] for key in keys])
        if state != seen.text:
            self._log.write("state", id=seen.id, **{key: found[key] for key in keys})
            seen.text = state
        seen.state = found["state"]

    def _cancel_some(self) -> None:
        for seen in list(self.seen.values()):
            after = seen.work.cancelled_after
            if seen.state in FINAL:
                if seen.state == "cancelled" and not seen.reruns and after is not None and after > 1.5:
                    self.rerun(seen)
                continue
            if after is None or seen.reruns or time.monotonic() - seen.told < after:
                continue
            self._log.write("cancel", id=seen.id)
            self._client.post(f"submissions/{seen.id}/cancel")

    def rerun(self, seen: Seen) -> bool:
        """Ask to have a final one graded again; whether that was granted."""
        self._log.write("rerun", id=seen.id)  # Before it is asked: the answer may be lost.
        seen.reruns += 1
        try:
            return self._client.post(f"submissions/{seen.id}/rerun").is_success
        except httpx.HTTPError:
            return False

    # At the end, when nobody disturbs any more.

    def find_unanswered(self) -> None:
        """What was taken without an answer is this student's too, from now on."""
        for found in self.listing():
            if found["id"] not in self.seen:
                nonce = self.nonce_of(found["id"])
                self._learn(found["id"], self.works[nonce], "found", found)

    def read(self, identity: str) -> dict[str, Any]:
        """What a submission's URL says at the end; a state of None where there is nothing."""
        keys = ("state", "verdict", "points", "fraction", "finished")
        answer = self._client.get(f"submissions/{identity}")
        if answer.status_code == 404:
            return {**dict.fromkeys(keys), "nonce": None, "attempt": None}
        answer.raise_for_status()
        found = answer.json()
        report = self._client.get(f"submissions/{identity}/report")
        attempt = report.json()["attempt"] if report.is_success else None
        fields = {key: found[key] for key in keys}
        return {**fields, "nonce": self.nonce_of(identity), "attempt": attempt}

    def nonce_of(self, identity: str) -> str:
        """The nonce in a submission's content."""
        answer = self._client.get(f"submissions/{identity}/files/solution.py")
        answer.raise_for_status()
        return answer.text.splitlines()[0].split(" ")[-1]

    def probe(self, works: Sequence[Work]) -> None:
        """Hand in all of them at once."""
        self.works |= {work.nonce: work for work in works}
        threads = [threading.Thread(target=self.hand_in, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def close(self) -> None:
        """No more requests."""
        self._client.close()


def _code(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return answer.text[:80]
