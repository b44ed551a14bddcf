"""The API as clients use it: over real HTTP, from login to board."""

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from grader import contract
from grader.bundle import Bundle
from server.db.session import Database
from server.grading import service as grading

Headers = Callable[..., dict[str, str]]
PASSWORD = "correct horse battery"
COURSE = "/api/v1/courses/demo"
ASSIGNMENT = f"{COURSE}/assignments/kernels/double"
SOURCE = "def solve(x, y):\n    y.copy_(x * 2)\n"


def _ok(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


def test_version_and_health_need_no_login(client: httpx.Client) -> None:
    version = _ok(client.get("/api/v1/version"))
    assert version["contract"] == contract.VERSION
    assert client.get("/healthz").headers["X-Solmark-Version"] == version["version"]
    _ok(client.get("/readyz"))


def test_a_token_by_password(client: httpx.Client) -> None:
    body = {"name": "laptop", "login": "ann", "password": PASSWORD}
    made = _ok(client.post("/api/v1/tokens", json=body), 201)
    headers = {"Authorization": f"Bearer {made['token']}"}
    me = _ok(client.get("/api/v1/me", headers=headers))
    assert me == {
        "login": "ann", "name": "Ann", "site_admin": False, "courses": [{"slug": "demo", "role": "student"}],
    }  # fmt: skip
    (listed,) = _ok(client.get("/api/v1/tokens", headers=headers))["items"]
    assert "token" not in listed
    assert listed["last_used"] is not None
    more = client.post("/api/v1/tokens", json={"name": "more", "scopes": ["staff"]}, headers=headers)
    assert more.status_code == 403
    _ok(client.delete(f"/api/v1/tokens/{made['id']}", headers=headers), 204)
    assert client.get("/api/v1/me", headers=headers).status_code == 401
    wrong = client.post("/api/v1/tokens", json=body | {"password": "wrong"})
    assert wrong.json()["error"]["code"] == "login_failed"


def test_scopes_bound_a_token(client: httpx.Client, token: Headers) -> None:
    reading = token("admin", "read")
    _ok(client.get(COURSE, headers=reading))
    assert client.post(f"{ASSIGNMENT}/submissions", json={}, headers=reading).status_code in {403, 422}
    refused = client.post(
        f"{ASSIGNMENT}/submissions", json={"files": {"solution.py": SOURCE}}, headers=reading
    )
    assert refused.status_code == 403
    assert client.get(f"{COURSE}/members", headers=reading).status_code == 403
    assert client.get(COURSE, headers=token("admin", "submit")).status_code == 403


def test_hand_in_watch_and_read(
    client: httpx.Client, token: Headers, grader: Any, database: Database
) -> None:
    ann, bob, ta = token("ann"), token("bob"), token("ta")
    (shown,) = _ok(client.get(f"{COURSE}/assignments", headers=ann))["items"]
    assert (shown["id"], shown["state"], shown["languages"]) == ("kernels/double", "open", ["python", "cpp"])
    starter = client.get(f"{ASSIGNMENT}/starter", headers=ann)
    assert starter.content.startswith(b"PK")
    assert _ok(client.get(ASSIGNMENT, headers=ann))["readme_zh"] == "# 加倍\n"

    created = client.post(
        f"{ASSIGNMENT}/submissions",
        files=[("files", ("solution.py", SOURCE)), ("files", ("notes.md", "# 笔记"))],
        data={"mode": "grade"},
        headers=ann,
    )
    first = _ok(created, 201)
    one = created.headers["Location"]
    assert one == f"/api/v1/submissions/{first['id']}"
    assert (first["number"], first["state"], first["final"]) == (1, "queued", False)
    assert first["queue"] == {"ahead": 0, "expected_seconds": None, "reason": "no_worker"}
    pasted = {"files": {"solution.py": SOURCE}, "mode": "test", "language": "python"}
    second = _ok(client.post(f"{ASSIGNMENT}/submissions", json=pasted, headers=ann), 201)
    assert (second["number"], second["mode"]) == (2, "test")
    assert client.get(f"{one}/files/notes.md", headers=ann).text == "# 笔记"
    assert client.get(f"{one}/files/notes.md", headers=ann).headers["content-type"].startswith("text/plain")

    assert client.get(f"{one}/report", headers=ann).json()["error"]["code"] == "not_found"
    spec = grader.grade()
    assert spec.submission == first["id"]
    done = _ok(client.get(one, headers=ann))
    assert (done["state"], done["final"], done["verdict"], done["fraction"]) == (
        "done",
        True,
        "accepted",
        0.5,
    )
    assert done["queue"] is None
    own, whole = (_ok(client.get(f"{one}/report", headers=who)) for who in (ann, ta))
    assert own["staff"] is None
    assert whole["staff"]["hidden"][0]["case"] == "secret"
    assert own["token"] == whole["token"] == ""
    assert own["timed"][0]["fraction"] == 0.5

    for path in (one, f"{one}/report", f"{one}/files/solution.py"):
        assert client.get(path, headers=bob).status_code == 404
    assert client.post(f"{one}/cancel", headers=ann).json()["error"]["code"] == "wrong_state"
    two = f"/api/v1/submissions/{second['id']}"
    assert _ok(client.post(f"{two}/cancel", headers=ann))["state"] == "cancelled"
    assert _ok(client.post(f"{two}/rerun", headers=ann))["state"] == "queued"
    assert client.post(f"{one}/rerun", headers=ann).status_code == 403
    assert _ok(client.post(f"{one}/rerun", headers=ta))["reason"] == "rejudge"
    assert [entry["number"] for entry in _ok(client.get(f"{one}/attempts", headers=ta))["items"]] == [1]
    assert client.get(f"{one}/attempts", headers=ann).status_code == 403
    quota = _ok(client.get(f"{ASSIGNMENT}/quota", headers=ann))
    assert (quota["attempts_used"], quota["attempt_limit"]) == (1, None)


def test_lists_come_in_pages(client: httpx.Client, token: Headers, submit: Callable[..., str]) -> None:
    ids = [submit("ann") for _ in range(5)]
    found: list[str] = []
    after: int | None = 0
    while after is not None:
        page = _ok(client.get(f"{COURSE}/submissions?limit=2&after={after}", headers=token("ann")))
        found += [item["id"] for item in page["items"]]
        after = page["next"]
    assert found == ids[::-1]
    assert _ok(client.get(f"{COURSE}/submissions", headers=token("bob")))["items"] == []
    everyone = client.get(f"{COURSE}/submissions?everyone=true", headers=token("bob"))
    assert everyone.status_code == 403
    staff = _ok(client.get(f"{COURSE}/submissions?everyone=true", headers=token("ta")))
    assert len(staff["items"]) == 5
    members: list[str] = []
    after = 0
    while after is not None:
        page = _ok(client.get(f"{COURSE}/members?limit=3&after={after}", headers=token("ta")))
        members += [item["login"] for item in page["items"]]
        after = page["next"]
    assert members == ["admin", "ta", "ann", "bob"]


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [
        ({"files": [("files", ("../solution.py", SOURCE))]}, 422, "files_refused"),
        (
            {"files": [("files", ("solution.py", SOURCE)), ("files", ("solution.py", "#"))]},
            422,
            "files_refused",
        ),
        ({"files": [("files", ("solution.py", b"\xff\xfe"))]}, 422, "files_refused"),
        ({"files": [("files", ("solution.py", b"#" * (1 << 20) + b"#"))]}, 413, "files_too_large"),
        ({"files": [("files", (f"f{n}.py", "x = 1")) for n in range(65)]}, 422, "files_refused"),
        ({"files": [("files", (f"f{n}.py", "x = 1")) for n in range(200)]}, 422, "files_refused"),
        ({"data": {"mode": "grade"}}, 422, "files_refused"),
        ({"json": {"files": {}}}, 422, "invalid"),
        ({"json": {"files": {"solution.py": SOURCE}, "mode": "guess"}}, 422, "invalid"),
        ({"json": {"files": {"solution.py": SOURCE}, "modes": "grade"}}, 422, "invalid"),
        ({"json": {"files": {"solution.py": 7}}}, 422, "invalid"),
        ({"content": b'{"files": {"solution.py": "\\ud800"}}'}, 422, "invalid"),
        ({"content": b'{"files": {"solution.py": "a", "solution.py": "b"}}'}, 422, "files_refused"),
    ],
    ids=range(13),
)
def test_uploads_that_are_refused(
    client: httpx.Client, token: Headers, request_: dict[str, Any], status: int, code: str
) -> None:
    headers = token("ann") | ({"Content-Type": "application/json"} if "content" in request_ else {})
    answer = client.post(f"{ASSIGNMENT}/submissions", headers=headers, **request_)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text
    assert _ok(client.get(f"{COURSE}/submissions", headers=token("ann")))["items"] == []


def test_a_pasted_form_is_a_submission(client: httpx.Client, token: Headers) -> None:
    data = {"source": SOURCE.replace("\n", "\r\n"), "filename": "", "language": "python"}
    # A browser sends a part for the empty file field as well.
    parts = [f'name="{name}"\r\n\r\n{value}' for name, value in data.items()]
    parts.append('name="files"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n')
    body = "".join(f"--x\r\nContent-Disposition: form-data; {part}\r\n" for part in parts) + "--x--\r\n"
    headers = token("ann") | {"Content-Type": "multipart/form-data; boundary=x"}
    made = _ok(client.post(f"{ASSIGNMENT}/submissions", content=body.encode(), headers=headers), 201)
    (file,) = made["files"]
    assert (file["name"], file["sha256"]) == ("solution.py", hashlib.sha256(SOURCE.encode()).hexdigest())


def test_a_hundred_uploads_at_once(client: httpx.Client, token: Headers, app: Any) -> None:
    app.state.settings.attempt_limit = 30
    app.state.settings.queued_per_team = 100
    headers = token("ann")

    def one(_: int) -> httpx.Response:
        return client.post(
            f"{ASSIGNMENT}/submissions", json={"files": {"solution.py": SOURCE}}, headers=headers
        )

    with ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(one, range(100)))
    numbers = sorted(answer.json()["number"] for answer in answers if answer.status_code == 201)
    assert numbers == list(range(1, 31))
    others = {answer.json()["error"]["code"] for answer in answers if answer.status_code != 201}
    assert others == {"no_attempts_left"}


def test_staff_publish_and_set_dates(
    client: httpx.Client, token: Headers, bundle: Bundle, changed_bundle: Bundle
) -> None:
    admin, ann = token("admin"), token("ann")
    manifest = changed_bundle.manifest.model_dump_json()
    parts: dict[str, Any] = {"archive": ("a.tar", changed_bundle.archive), "manifest": ("m.json", manifest)}
    data = {"closes": "2100-01-01T00:00:00+08:00", "attempt_limit": "5"}
    for who in (ann, token("ta")):
        assert client.post(f"{COURSE}/bundles", files=parts, data=data, headers=who).status_code == 403
    made = _ok(client.post(f"{COURSE}/bundles", files=parts, data=data, headers=admin), 201)
    assert (made["digest"], made["current"]) == (changed_bundle.digest, True)
    shown = _ok(client.get(ASSIGNMENT, headers=ann))
    assert (shown["closes"], shown["attempt_limit"]) == ("2099-12-31T16:00:00Z", 5)
    _ok(client.patch(ASSIGNMENT, json={"attempt_limit": None}, headers=admin))
    shown = _ok(client.get(ASSIGNMENT, headers=ann))
    assert (shown["closes"], shown["attempt_limit"]) == ("2099-12-31T16:00:00Z", None)
    for bad in (
        {"closes": "2100-01-01T00:00:00"},
        {"attempt_limit": 0},
        {"device_seconds_per_day": -1},
        {"x": 1},
    ):
        assert client.patch(ASSIGNMENT, json=bad, headers=admin).status_code == 422
    versions = _ok(client.get(f"{ASSIGNMENT}/versions", headers=admin))["items"]
    assert [version["current"] for version in versions] == [True, False]
    _ok(client.post(f"{ASSIGNMENT}/versions/{bundle.digest}/current", headers=admin))
    assert _ok(client.get(ASSIGNMENT, headers=ann))["version"] == bundle.digest
    _ok(client.delete(f"{ASSIGNMENT}/current", headers=admin), 204)
    assert client.get(ASSIGNMENT, headers=ann).status_code == 404
    refused = client.post(f"{COURSE}/bundles", files=parts | {"archive": ("a", b"junk")}, headers=admin)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "bundle_refused")
    audit = _ok(client.get(f"{COURSE}/audit", headers=token("ta")))["items"]
    assert audit[0]["action"] == "assignment.unpublish"
    assert audit[0]["actor"] == "admin"


def test_courses_and_people_are_made_by_admins(client: httpx.Client, token: Headers) -> None:
    admin, ta = token("admin"), token("ta")
    course = {"slug": "next", "title_en": "Next", "title_zh": "下一", "public_boards": True}
    assert client.post("/api/v1/courses", json=course, headers=ta).status_code == 403
    assert _ok(client.post("/api/v1/courses", json=course, headers=admin), 201)["role"] == "admin"
    assert client.post("/api/v1/courses", json=course, headers=admin).status_code == 409
    person = {"login": "carl", "name": "Carl", "password": PASSWORD}
    assert client.post("/api/v1/users", json=person, headers=ta).status_code == 403
    _ok(client.post("/api/v1/users", json=person, headers=admin), 201)
    member = {"login": "carl", "role": "student"}
    _ok(client.post("/api/v1/courses/next/members", json=member, headers=admin), 201)
    assert client.post("/api/v1/courses/next/members", json=member, headers=ta).status_code == 404
    assert client.post(f"{COURSE}/members", json=member, headers=ta).status_code == 403
    assert [
        found["slug"] for found in _ok(client.get("/api/v1/courses", headers=token("carl")))["items"]
    ] == ["next"]


def test_a_public_board_needs_no_login(
    client: httpx.Client, token: Headers, grader: Any, submit: Any
) -> None:
    submit("ann")
    grader.grade()
    assert client.get(f"{ASSIGNMENT}/board").status_code == 401
    _ok(client.get(f"{ASSIGNMENT}/board", headers=token("bob")))
    _ok(client.patch(COURSE, json={"public_boards": True}, headers=token("admin")))
    board = _ok(client.get(f"{ASSIGNMENT}/board"))
    (entry,) = board["entries"]
    assert (entry["rank"], entry["name"], entry["hardware"]) == (1, "ann", "cpu")
    assert (entry["low"], entry["fraction"], entry["high"]) == (0.49, 0.5, 0.51)
    assert board["version"] == grader.world.digest
    assert client.get(f"{ASSIGNMENT}/board?hardware=tpu").status_code == 404


def test_a_worker_sees_its_own_job_and_nothing_else(
    client: httpx.Client, grader: Any, submit: Any, database: Database, bundle: Bundle, token: Headers
) -> None:
    node = {"Authorization": f"Bearer {grader.world.node_token}"}
    beat = {"worker": "w1", "hardware": "cpu", "devices": 1, "state": "active", "versions": {"torch": "2.13"}}
    answer = _ok(client.post("/internal/heartbeat", json=beat, headers=node))
    assert answer == {"state": "active", "cancelled": False}
    submit("ann"), submit("bob", files={"solution.py": b"def solve(x, y): pass\n"})
    with database.begin() as session:
        mine, other = grading.dispatch(session, grader.settings)
    job = node | {"X-Solmark-Attempt": mine.token}
    own = f"/internal/blobs/{mine.files[0].sha256}"
    assert client.get(own, headers=job).status_code == 409  # Not claimed yet.
    claimed = _ok(client.post("/internal/attempts/claim", json={"worker": "w1"}, headers=job))
    assert claimed["lease_seconds"] == grader.settings.lease_seconds
    assert client.post("/internal/attempts/claim", json={"worker": "w2"}, headers=job).status_code == 409
    assert hashlib.sha256(client.get(own, headers=job).content).hexdigest() == mine.files[0].sha256
    assert client.get(f"/internal/blobs/{bundle.digest}", headers=job).content == bundle.archive
    for digest in (other.files[0].sha256, "0" * 64, "..%2f..%2fsolmark.db"):
        assert client.get(f"/internal/blobs/{digest}", headers=job).status_code == 404
    assert client.get(own, headers=token("admin") | {"X-Solmark-Attempt": mine.token}).status_code == 401
    assert client.get(own, headers={"X-Solmark-Attempt": mine.token}).status_code == 401
    with database.begin() as session:
        _, stranger = grading.register_node(session, "node-2")
    foreign = {"Authorization": f"Bearer {stranger}", "X-Solmark-Attempt": mine.token}
    assert client.get(own, headers=foreign).status_code == 409
    assert client.get("/api/v1/me", headers=node).status_code == 401

    log = b"x" * 100_000
    log_path = f"/internal/blobs/{hashlib.sha256(log).hexdigest()}"
    _ok(client.post(log_path, content=log, headers=job), 204)
    _ok(client.post(log_path, content=log, headers=job), 204)
    assert client.post(log_path, content=b"other", headers=job).json()["error"]["code"] == "digest_mismatch"
    large = b"x" * (grader.settings.log_blob_bytes + 1)
    assert client.post(log_path, content=large, headers=job).status_code == 413

    _ok(client.post("/internal/attempts/return", headers=job), 204)
    assert client.get(own, headers=job).status_code == 409
    assert _ok(client.post("/internal/heartbeat", json=beat, headers=job))["cancelled"]
    (worker,) = _ok(client.get("/api/v1/workers", headers=token("admin")))["items"]
    assert (worker["node"], worker["name"], worker["versions"]) == ("node-1", "w1", {"torch": "2.13"})
