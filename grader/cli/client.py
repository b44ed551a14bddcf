"""The command line's side of the HTTP API: requests, their failures in words, and following a submission."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, Self
from urllib.parse import quote, urlsplit

import httpx
import typer
from pydantic import ValidationError
from rich.console import Console

from grader.cli import answers, exit_codes
from grader.cli.answers import Answer
from grader.cli.config import DEFAULT_SERVER, Config
from grader.cli.language import current, pick
from grader.plaintext import clean, line

VERSION_HEADER = "X-Solmark-Version"
ALIVE = "alive"
"""Name of what `follow` yields for a comment of the stream."""
FINAL_STATES = frozenset({"done", "cancelled", "grader_error"})
PAGE = 200
"""Most entries that the server gives at once."""
READ_SECONDS = 40.0
"""A stream silent for longer is taken as lost: the server sends a comment every 15 s."""
GIVE_UP_SECONDS = 600.0
"""So long without any answer, and following ends with an infrastructure error."""


class ClientError(Exception):
    """A request did not succeed; the text is for the user, `exit_code` for the shell."""

    def __init__(self, text: str, exit_code: int = exit_codes.USAGE, status: int = 0) -> None:
        super().__init__(text)
        self.exit_code = exit_code
        self.status = status
        """HTTP status of the answer; 0 if there was none."""


class UnreachableError(ClientError):
    """The server did not answer, or answered that it cannot now."""

    def __init__(self, text: str) -> None:
        super().__init__(text, exit_codes.INFRASTRUCTURE)


def check_server(url: str) -> str:
    """The server's address without a trailing slash; raises ClientError if it is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ClientError(
            pick(
                f"{url!r} is no server: an address such as https://solmark.example.org is needed.",
                f"{url!r} 不是服务器地址：需要形如 https://solmark.example.org 的地址。",
            )
        )
    return url.rstrip("/")


class Client:
    """A session with one server. Use as a context manager."""

    def __init__(self, config: Config, errors: Console) -> None:
        headers = {"Accept": "application/json", "User-Agent": f"solmark/{version('solmark')}"}
        if config.token:
            headers["Authorization"] = f"Bearer {config.token}"
        self._errors = errors
        self._server = check_server(config.server)
        self._token = bool(config.token)
        self._warned = False
        self._http = httpx.Client(
            base_url=self._server + "/api/v1/", headers=headers, timeout=httpx.Timeout(30.0, connect=10.0)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str, shape: type[Answer] = Answer, **query: str | int | None) -> Any:
        """JSON of a GET, which has that shape."""
        return self._json(
            "GET", path, shape, params={key: value for key, value in query.items() if value is not None}
        )

    def pages(
        self, path: str, shape: type[answers.Page], key: str = "items", **query: str | int | None
    ) -> Any:
        """JSON of a GET whose list under `key` goes on over pages: the first, with the entries of all."""
        found = page = self.get(path, shape, limit=PAGE, **query)
        seen: set[int] = set()
        while (after := page.get("next")) is not None:
            if after in seen:  # It would never end.
                raise self._no_server()
            seen.add(after)
            page = self.get(path, shape, limit=PAGE, after=after, **query)
            found[key] += page[key]
        found.pop("next", None)
        return found

    def post(self, path: str, shape: type[Answer], body: Mapping[str, Any], *, files: Any = None) -> Any:
        """JSON of that shape for a POST, with a JSON body or (with `files`) as a multipart form."""
        return self._json(
            "POST", path, shape, **({"data": body, "files": files} if files else {"json": body})
        )

    def course(self, given: str | None) -> str:
        """The course meant: the one given, else the only one that the user is in."""
        if given:
            return given
        courses = [entry["slug"] for entry in self.pages("courses", answers.Courses)["items"]]
        if len(courses) == 1:
            return str(courses[0])
        if not courses:
            raise ClientError(pick("You are in no course yet.", "您尚未加入任何课程。"))
        known = ", ".join(courses)
        raise ClientError(
            pick(f"Say which course with --course: {known}.", f"请用 --course 指明课程：{known}。")
        )

    def follow(self, submission: str) -> Iterator[tuple[str, Any]]:
        """Server-sent events (name, data) until the submission is final; lost connections are taken up again.

        Now and then (`ALIVE`, None): the server has nothing new to say.
        Ends when the stream says `final`. Raises UnreachableError when nothing
        was heard for ten minutes.
        """
        last_id, heard, pause = "", time.monotonic(), 0.5
        while True:
            try:
                for name, data, identity in self._events(submission, last_id):
                    last_id, heard, pause = identity or last_id, time.monotonic(), 0.5
                    yield name, data
                    if name == "final":
                        return
            except (httpx.HTTPError, UnreachableError, json.JSONDecodeError, RecursionError) as error:
                self._errors.print(
                    pick("Connection lost; trying again.", "连接中断，正在重试。"), style="yellow"
                )
                if time.monotonic() - heard > GIVE_UP_SECONDS:
                    raise self._unreachable(error) from error
            time.sleep(pause)
            pause = min(pause * 2, 10.0)

    def _events(self, submission: str, last_id: str) -> Iterator[tuple[str, Any, str]]:
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last_id} if last_id else {})
        timeout = httpx.Timeout(30.0, read=READ_SECONDS, connect=10.0)
        path = f"submissions/{quote(submission)}/events"
        with self._http.stream("GET", path, headers=headers, timeout=timeout) as response:
            if response.status_code != 200:
                response.read()
                self._check(response)
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                raise self._no_server()
            name, data, identity = "message", "", ""
            for row in response.iter_lines():
                if row.startswith(":"):
                    yield ALIVE, None, identity
                    continue
                if not row:
                    if data:
                        yield name, self._read(data, answers.EVENTS.get(name, Answer)), identity
                    name, data, identity = "message", "", ""
                    continue
                field, _, value = row.partition(":")
                value = value.removeprefix(" ")
                if field == "event":
                    name = value
                elif field == "data":
                    data += value
                elif field == "id":
                    identity = value

    def _json(self, method: str, path: str, shape: type[Answer], **options: Any) -> Any:
        try:
            response = self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error
        self._check(response)
        try:
            return self._read(response.text, shape)
        except (ValueError, RecursionError) as error:
            raise self._no_server() from error

    def _read(self, text: str, shape: type[Answer]) -> Any:
        """The object that JSON from the server says, of that shape, its texts safe to show."""
        found = _safe(json.loads(text), self._no_server())
        try:
            shape.model_validate(found)
        except ValidationError as error:
            raise self._no_server() from error
        return found

    def _check(self, response: httpx.Response) -> None:
        """Raise what an answer's status means; say once if the versions differ."""
        theirs = response.headers.get(VERSION_HEADER)
        mismatch = _mismatch(theirs)
        if mismatch and not self._warned:
            self._warned = True
            self._errors.print(mismatch, style="yellow", markup=False, highlight=False)
        if response.is_success:
            if theirs is None:
                raise self._no_server()
            return
        text = _error_text(response)
        if text is None:
            raise (
                self._no_server()
                if response.status_code < 500
                else UnreachableError(
                    pick(
                        f"{self._server} answered with status {response.status_code}.",
                        f"{self._server} 返回状态 {response.status_code}。",
                    )
                )
            )
        if response.status_code >= 500:
            raise UnreachableError(text)
        if response.status_code == 401:
            if self._token:
                text = pick(f"{self._server} refused the API token.", f"{self._server} 拒绝了该 API 令牌。")
            text += " " + pick(
                f"Run: solmark login --server {self._server}",
                f"请运行：solmark login --server {self._server}",
            )
        raise ClientError(text, status=response.status_code)

    def _unreachable(self, error: Exception) -> UnreachableError:
        cause = str(error) or type(error).__name__
        text = pick(f"{self._server} does not answer: {cause}", f"{self._server} 没有响应：{cause}")
        if self._server == DEFAULT_SERVER and not self._token:  # Perhaps nobody ever said which one.
            text += "\n" + pick(
                "To use another server: solmark login --server ADDRESS",
                "如需使用其他服务器：solmark login --server 地址",
            )
        return UnreachableError(text)

    def _no_server(self) -> ClientError:
        return ClientError(
            pick(
                f"{self._server} does not answer like a Solmark server; check --server.",
                f"{self._server} 的响应不像 Solmark 服务器；请检查 --server。",
            )
        )


@contextmanager
def session(errors: Console, config: Config | None = None) -> Iterator[Client]:
    """A client; its errors end the command with a message and their exit code."""
    try:
        with Client(config or Config.load(), errors) as client:
            yield client
    except ClientError as error:
        errors.print(str(error), style="red", markup=False, highlight=False)
        raise typer.Exit(error.exit_code) from error
    except KeyboardInterrupt:
        errors.print(pick("Stopped.", "已停止。"))
        raise typer.Exit(exit_codes.INTERRUPTED) from None


class _Answer(dict[str, Any]):
    """An object that a server sent: a key that it lacks ends the command with a sentence."""

    def __init__(self, values: Mapping[str, Any], lacking: ClientError) -> None:
        super().__init__(values)
        self._lacking = lacking

    def __missing__(self, key: str) -> Any:
        raise self._lacking


def _safe(value: Any, lacking: ClientError) -> Any:
    """The value with no text that a terminal would obey, whoever wrote it."""
    if isinstance(value, str):
        return _shown(value)
    if isinstance(value, list):
        return [_safe(item, lacking) for item in value]
    if isinstance(value, dict):
        return _Answer({_shown(key): _safe(item, lacking) for key, item in value.items()}, lacking)
    return value


def _shown(text: str) -> str:
    return clean(text, len(text))


def _mismatch(theirs: str | None) -> str | None:
    """What to say when the server's version is not this client's; None if they agree or it is not known."""
    ours = version("solmark")
    if theirs is None or theirs == ours:
        return None
    theirs = line(theirs, 40)
    install = f'pip install "solmark=={theirs}"'
    if _numbers(theirs) > _numbers(ours):
        what = pick(f"upgrade with {install}", f"请用 {install} 升级")
    else:
        what = pick("ask the staff to upgrade the server", "请联系课程人员升级服务器")
    text = pick(
        f"The server runs Solmark {theirs}, this client is {ours}: {what}.",
        f"服务器运行 Solmark {theirs}，本客户端为 {ours}：{what}。",
    )
    if theirs.split(".")[:2] != ours.split(".")[:2]:  # Else no more than repairs lie between them.
        text += pick(" Until then, answers may be misread.", "在此之前，结果可能有误。")
    return text


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in text.split(".")[:3])


def _error_text(response: httpx.Response) -> str | None:
    try:
        error = response.json()["error"]
        return _shown(str(error["message_zh"] if current() == "zh" else error["message"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
