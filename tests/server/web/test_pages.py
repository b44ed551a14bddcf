"""Pages as people use them, over HTTP and without JavaScript."""

import csv
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy.exc import OperationalError

from grader import transcript
from server.web.i18n import LANGUAGES
from server.web.render import _environment, duration, is_soon, remaining, warm_up

Visit = Callable[..., httpx.Client]


def _text(answer: httpx.Response, status: int = 200) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    return answer.text


def test_nothing_of_a_page_is_loaded_only_when_somebody_asks_for_it() -> None:
    warm_up()
    environments = [_environment(language) for language in LANGUAGES]
    for environment in environments:
        cached = {name for _, name in environment.cache or ()}
        assert cached >= set(environment.list_templates())


class TestLogIn:
    def test_who_is_not_logged_in_is_asked_to_and_comes_back(self, visit: Visit, seed: Any) -> None:
        client = visit()
        answer = client.get(seed.ADDRESS)
        assert answer.status_code == 303
        assert f'name="next" value="{seed.ADDRESS}"' in _text(client.get(answer.headers["location"]))
        form = {"login": "Ada", "password": seed.PASSWORD, "next": seed.ADDRESS}
        answer = client.post("/login", data=form)
        assert (answer.status_code, answer.headers["location"]) == (303, seed.ADDRESS)
        assert "Ada Lovelace" in _text(client.get(seed.ADDRESS))

    def test_a_wrong_password_says_so_and_keeps_the_name(self, visit: Visit) -> None:
        page = _text(visit(language="zh").post("/login", data={"login": "ada", "password": "no"}), 401)
        assert "用户名或密码错误" in page
        assert 'value="ada"' in page

    @pytest.mark.parametrize("link", ["https://evil.example", "//evil.example", "/\\evil.example", "evil"])
    def test_no_link_leads_to_another_site(self, visit: Visit, seed: Any, link: str) -> None:
        form = {"login": "ada", "password": seed.PASSWORD, "next": link}
        assert visit().post("/login", data=form).headers["location"] == "/"

    def test_logging_out_ends_the_session(self, visit: Visit) -> None:
        client = visit("ada")
        cookies = dict(client.cookies)
        assert client.post("/logout").headers["location"] == "/login?notice=logged_out"
        client.cookies.update(cookies)
        assert client.get("/courses").status_code == 303

    def test_forms_of_other_sites_are_refused(self, visit: Visit) -> None:
        client = visit("ada")
        client.headers["origin"] = "https://evil.example"
        assert "没有" not in _text(client.post("/logout"), 403)
        del client.headers["origin"]  # An old browser that says nothing: only the token in the form counts.
        assert client.post("/logout").status_code == 403
        token = re.search(r'name="form_token" value="(\w+)"', client.get("/courses").text)
        assert token is not None
        assert client.post("/logout", data={"form_token": token[1]}).status_code == 303


class TestLanguage:
    def test_the_browser_is_asked_then_the_reader_chooses(self, visit: Visit) -> None:
        client = visit("ada", language="fr, zh-CN;q=0.8, en;q=0.5")
        page = _text(client.get("/courses"))
        assert '<html lang="zh-Hans">' in page
        assert "系统与速度" in page
        answer = client.post("/language", data={"language": "en", "next": "/courses?x=1"})
        assert answer.headers["location"] == "/courses?x=1"
        page = _text(client.get("/courses"))
        assert '<html lang="en">' in page
        assert "Systems &amp; Speed" in page

    def test_it_is_chosen_on_the_answer_to_a_form_too(self, visit: Visit, seed: Any) -> None:
        client = visit("ada")
        for address, form, back in (
            (f"{seed.ADDRESS}/submissions", {"code": ""}, seed.ADDRESS),
            ("/account/tokens", {"name": "\t"}, "/account"),
            ("/account/tokens", {}, "/"),
        ):
            page = client.post(address, data=form).text
            assert f'name="next" value="{back}"' in page, address
        page = visit().post("/login", data={"login": "ada", "password": "x", "next": seed.ADDRESS}).text
        assert f'name="next" value="/login?next={seed.ADDRESS}"' in page

    def test_an_unknown_language_changes_nothing(self, visit: Visit) -> None:
        answer = visit().post("/language", data={"language": "xx", "next": "/"})
        assert "set-cookie" not in answer.headers


class TestAssignment:
    def test_the_text_is_in_the_readers_language_with_maths_and_figures(
        self, visit: Visit, seed: Any
    ) -> None:
        client = visit("ada")
        page = _text(client.get(seed.ADDRESS))
        assert "<math" in page
        assert "<mfrac>" in page
        assert "请写出" in _text(visit("ada", "zh").get(seed.ADDRESS))
        figure = re.search(r'<img src="([^"]+)" alt="The graph of doubling"', page)
        assert figure is not None
        answer = client.get(figure[1])
        assert answer.headers["content-type"] == "image/svg+xml"
        assert "sandbox" in answer.headers["content-security-policy"]

    @pytest.mark.parametrize(
        "path", ["hidden/secret.svg", "hidden/cases.toml", "task.py", "figures/none.svg", "../x.svg", ".png"]
    )
    def test_nothing_but_pictures_leaves_the_bundle(self, visit: Visit, seed: Any, path: str) -> None:
        assert visit("tara").get(f"{seed.ADDRESS}/files/{path}").status_code == 404

    def test_it_shows_dates_limits_quota_and_the_teams_work(self, visit: Visit, seed: Any, site: Any) -> None:
        page = _text(visit("ada").get(seed.ADDRESS))
        for fact in ("1 GiB", "1 min 30 s", "in 3 days", "40 % for correctness", "Python, C++"):
            assert fact in page
        assert re.search(r"4\d of 50", page)
        assert site.submissions["accepted"] in page
        assert site.submissions["second"] not in page

    def test_the_starter_is_a_zip(self, visit: Visit, seed: Any) -> None:
        answer = visit("ada").get(f"{seed.ADDRESS}/starter")
        assert answer.headers["content-disposition"] == 'attachment; filename="double.zip"'
        assert answer.content.startswith(b"PK")

    def test_strangers_find_nothing(self, visit: Visit, seed: Any) -> None:
        client = visit("nobody")
        for address in ("/courses/demo", seed.ADDRESS, f"{seed.ADDRESS}/starter", f"{seed.ADDRESS}/board"):
            _text(client.get(address), 404)


class TestSubmit:
    def _submit(self, client: httpx.Client, seed: Any, **options: Any) -> httpx.Response:
        return client.post(f"{seed.ADDRESS}/submissions", **options)

    def test_pasted_code_gets_a_name_by_what_it_looks_like(self, visit: Visit, seed: Any) -> None:
        client = visit("ada")
        cpp = '#include "solmark.h"\r\nextern "C" int solve() { return 0; }\r\n'
        for code, name in ((seed.SOLUTION, "solution.py"), (cpp, "solution.cpp")):
            answer = self._submit(client, seed, data={"code": code, "mode": "test"})
            assert answer.status_code == 303, answer.text
            address = answer.headers["location"]
            assert name in _text(client.get(address))
            assert client.get(f"{address}/files/{name}").text == code.replace("\r\n", "\n")

    def test_files_are_taken_and_offered_for_download_only(self, visit: Visit, seed: Any) -> None:
        client = visit("grace")
        files = [("files", ("solution.py", seed.SOLUTION)), ("files", ("helper.py", seed.EVIL))]
        address = self._submit(client, seed, files=files, data={"code": "  "}).headers["location"]
        page = _text(client.get(address))
        assert "helper.py" in page
        assert seed.EVIL not in page
        answer = client.get(f"{address}/files/helper.py")
        assert answer.text == seed.EVIL
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment")
        assert answer.headers["x-content-type-options"] == "nosniff"

    def test_what_was_said_in_a_case_is_offered_for_download_and_for_replay(
        self, visit: Visit, site: Any, seed: Any
    ) -> None:
        address = f"/submissions/{site.submissions['accepted']}"
        page = _text(visit("ada").get(address))
        assert page.count(f'href="{address}/transcripts/tiny"') == 1
        assert f'href="{address}/transcripts/large"' not in page
        assert "<code>solmark replay tiny.jsonl solution.py</code>" in page
        answer = visit("ada").get(f"{address}/transcripts/tiny")
        said = transcript.load(answer.text)
        assert (said.case, said.assignment, said.entries) == ("tiny", seed.ASSIGNMENT, (seed.SAID,))
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''tiny.jsonl"
        for login, case in (("ada", "large"), ("ada", "nothing"), ("grace", "tiny"), ("nobody", "tiny")):
            assert visit(login).get(f"{address}/transcripts/{case}").status_code == 404

    def test_of_much_code_the_entry_is_shown_and_all_is_offered(self, visit: Visit, seed: Any) -> None:
        client = visit("grace")
        code = f"# {'many words ' * 4000}\n{seed.SOLUTION}"
        files = [("files", (name, code)) for name in ("a.py", "solution.py", "z.py")]
        address = self._submit(client, seed, files=files, data={"mode": "test"}).headers["location"]
        page = _text(client.get(address))
        assert page.count("# as asked") == 1
        assert page.count("too large to show") == 2
        assert all(f'href="{address}/files/{name}"' in page for name in ("a.py", "solution.py", "z.py"))

    @pytest.mark.parametrize(
        ("options", "status", "sentence"),
        [
            ({"data": {"code": ""}}, 422, "No file was handed in"),
            ({"files": [("files", ("solution.py", b"\xff\xfe"))]}, 422, "not UTF-8 text"),
            ({"files": [("files", ("<b>x</b>.py", b"x = 1"))]}, 422, "not a usable file name"),
            ({"data": {"code": "x = 1"}, "files": [("files", ("solution.py", b"y"))]}, 422, "given twice"),
            (
                {"files": [("files", ("solution.py", b"#" * ((1 << 20) + 1)))]},
                413,
                "at most 1048576 are taken",
            ),
            ({"data": {"code": "__global__ void f() {}"}}, 422, "cuda is not taken here"),
            ({"data": {"code": "x = 1", "hardware": "h200"}}, 422, "one of cpu"),
            ({"files": [("files", (f"f{n}.py", b"x")) for n in range(65)]}, 422, "at most 64"),
        ],
    )
    def test_what_is_refused_comes_back_with_the_reason(
        self, visit: Visit, seed: Any, options: dict[str, Any], status: int, sentence: str
    ) -> None:
        page = _text(self._submit(visit("ada"), seed, **options), status)
        assert sentence in page
        assert "<b>x</b>" not in page
        if code := options.get("data", {}).get("code"):
            assert code.replace("<", "&lt;") in page

    def test_a_body_over_the_limit_is_a_page_too(self, visit: Visit, seed: Any, site: Any) -> None:
        content = b"#" * (site.settings.body_bytes + 1)
        answer = self._submit(visit("ada"), seed, files=[("files", ("solution.py", content))])
        assert "Too large" in _text(answer, 413)


class TestSubmission:
    def test_an_accepted_one_shows_how_close_to_light(self, visit: Visit, site: Any) -> None:
        page = _text(visit("ada").get(f"/submissions/{site.submissions['accepted']}"))
        for fact in ("61.0 %", "60.4 % to 61.6 %", "71.5", "All 4 hidden tests passed", "memory bandwidth",
                     "6.56 µs", "2.00 µs", "A test machine", "Timed cases"):  # fmt: skip
            assert fact in page, fact
        assert page.count("<svg") > 6

    def test_an_accepted_one_names_the_next_milestone(self, visit: Visit, site: Any) -> None:
        address = f"/submissions/{site.submissions['accepted']}"
        for login in ("ada", "tara"):
            assert "Next milestone: library at 70.0 %" in _text(visit(login).get(address))
        assert "下一个里程碑：库函数，70.0 %" in _text(visit("ada", "zh").get(address))

    def test_a_wrong_one_teaches(self, visit: Visit, site: Any) -> None:
        address = f"/submissions/{site.submissions['wrong']}"
        page = _text(visit("ada").get(address))
        for fact in ("Element 3 is not doubled.", "y[3]", "6.0", "3.0", "Not run", "float32[5]"):
            assert fact in page, fact
        assert "第 3 个元素没有加倍。" in _text(visit("ada", "zh").get(address))

    def test_a_build_error_shows_the_log(self, visit: Visit, site: Any, seed: Any) -> None:
        page = _text(visit("ada").get(f"/submissions/{site.submissions['build']}"))
        assert "<details open><summary>Build output" in page
        assert "onerror=alert(1)" in page
        assert seed.EVIL not in page

    def test_staff_detail_is_for_staff(self, visit: Visit, site: Any) -> None:
        address = f"/submissions/{site.submissions['wrong']}"
        secrets = ("5eed5eed", "seen by staff only", "For staff only")
        student, staff = _text(visit("ada").get(address)), _text(visit("tara").get(address))
        for secret in secrets:
            assert secret not in student
            assert secret in staff

    def test_other_peoples_work_does_not_exist(self, visit: Visit, site: Any) -> None:
        client = visit("grace")
        address = f"/submissions/{site.submissions['accepted']}"
        assert client.get(address).status_code == 404
        assert client.get(f"{address}/files/solution.py").status_code == 404
        assert client.post(f"{address}/cancel").status_code == 404

    def test_one_in_the_queue_reloads_itself_and_can_be_cancelled(
        self, visit: Visit, site: Any, seed: Any
    ) -> None:
        client, public_id = visit("ada"), seed.submit(site, "ada")
        address = f"/submissions/{public_id}"
        page = _text(client.get(address))
        assert '<noscript><meta http-equiv="refresh"' in page
        assert f'sse-connect="/api/v1{address}/events"' in page
        answer = client.post(f"{address}/cancel")
        page = _text(client.get(answer.headers["location"]))
        assert "The submission is cancelled." in page
        assert "noscript" not in page
        assert client.post(f"{address}/rerun").status_code == 303
        assert "In the queue" in _text(client.get(address))

    def test_only_staff_run_a_graded_one_again(self, visit: Visit, site: Any, seed: Any) -> None:
        public_id = seed.submit(site, "ada")
        seed.finish(site, public_id, "wrong")
        assert "Run again" not in _text(visit("ada").get(f"/submissions/{public_id}"))
        assert visit("ada").post(f"/submissions/{public_id}/rerun").status_code == 403
        assert "Run again" in _text(visit("tara").get(f"/submissions/{public_id}"))

    def test_lists_are_the_teams_or_everybodys(self, visit: Visit, site: Any) -> None:
        mine = _text(visit("ada").get("/courses/demo/submissions"))
        assert site.submissions["accepted"] in mine
        assert site.submissions["second"] not in mine
        everybodys = _text(visit("tara").get("/courses/demo/submissions?assignment=kernels/double"))
        assert site.submissions["second"] in everybodys
        assert "No submissions" in _text(visit("tara").get("/courses/demo/submissions?mine=1"))

    def test_staff_find_those_of_one_student(self, visit: Visit, site: Any) -> None:
        page = _text(visit("tara").get("/courses/demo/submissions?team=GRACE"))
        assert site.submissions["second"] in page
        assert site.submissions["accepted"] not in page
        page = _text(visit("tara").get("/courses/demo/submissions?team=<b>"))
        assert "called &lt;b&gt;" in page
        mine = _text(visit("ada").get("/courses/demo/submissions?team=grace"))
        assert site.submissions["second"] not in mine


def test_nothing_from_a_submission_becomes_markup(visit: Visit, site: Any, seed: Any) -> None:
    client = visit("tara")
    for address in (
        f"/submissions/{site.submissions['evil']}", "/courses/demo/submissions", "/staff/queue",
        f"{seed.ADDRESS}/board", seed.ADDRESS,
    ):  # fmt: skip
        answer = client.get(address)
        page = _text(answer)
        assert not re.search(r"<script>|<img src=x|onerror=(?!alert\(1\)&gt;)", page), address
        assert set(re.findall(r"<script[^>]*>", page)) == set(
            re.findall(r'<script src="/static/[^"]+" defer>', page)
        )
        assert " style=" not in page
        assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_who_waits_for_a_machine_that_is_not_there_is_told_so(visit: Visit, site: Any) -> None:
    page = _text(visit("ada").get(f"/submissions/{site.submissions['queued']}"))
    assert "No machine of the class cpu is up" in page
    assert "You are next" not in page
    page = _text(visit("ada", "zh").get(f"/submissions/{site.submissions['queued']}"))
    assert "目前没有 cpu 类机器在线" in page


def test_a_course_shows_the_teams_best(visit: Visit, site: Any) -> None:
    page = _text(visit("ada").get("/courses/demo"))
    assert f'<a href="/submissions/{site.submissions["accepted"]}">61.0 %</a>' in page
    assert "71.5 points" in page
    assert "nothing yet" in _text(visit("tara").get("/courses/demo"))


class TestBoard:
    def test_ranks_are_shared_and_ones_own_row_is_marked(self, visit: Visit, seed: Any, site: Any) -> None:
        page = _text(visit("ada").get(f"{seed.ADDRESS}/board"))
        rows = re.findall(r"<tr( class=\"mine\")?>\s*<td class=\"number\">(.*?)</td>", page)
        assert [(bool(mine), re.sub("<.*?>", "", rank)) for mine, rank in rows] == [
            (True, "=1"),
            (False, "=1"),
        ]
        assert f"/submissions/{site.submissions['accepted']}" in page
        assert f"/submissions/{site.submissions['second']}" not in page

    def test_it_is_open_only_where_the_course_says_so(self, visit: Visit, seed: Any, site: Any) -> None:
        from server.courses import service

        assert visit().get(f"{seed.ADDRESS}/board").status_code == 303
        for public, status in ((True, 200), (False, 303)):
            with site.database.begin() as session:
                service.get_course(session, "demo").public_boards = public
            assert visit().get(f"{seed.ADDRESS}/board").status_code == status

    def test_it_comes_in_pages_with_ones_own_row_on_each(self, visit: Visit, seed: Any, site: Any) -> None:
        first = _text(visit("ada").get(f"{seed.ADDRESS}/board"))
        assert first.count('class="mine"') == 1
        assert 'rel="next"' not in first
        second = _text(visit("ada").get(f"{seed.ADDRESS}/board?after=1"))
        ranks = re.findall(r"<tr( class=\"mine\")?>", second)
        assert ranks[1:] == [' class="mine"', ""], "the reader's row, then what follows the first"
        assert 'rel="prev"' in second
        assert visit("ada").get(f"{seed.ADDRESS}/board?after=-1").status_code == 422

    def test_it_is_also_a_spreadsheet(self, visit: Visit, seed: Any, site: Any) -> None:
        page = _text(visit("ada").get(f"{seed.ADDRESS}/board"))
        assert f'href="{seed.ADDRESS}/board.csv"' in page
        answer = visit("ada").get(f"{seed.ADDRESS}/board.csv")
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        rows = list(csv.DictReader(answer.content.decode("utf-8-sig").splitlines()))
        assert [(row["rank"], row["name"], row["fraction"]) for row in rows] == [
            ("1", "ada", "0.61"), ("1", "grace", "0.607"),
        ]  # fmt: skip
        assert visit().get(f"{seed.ADDRESS}/board.csv").status_code == 303


class TestScores:
    def test_staff_see_everybodys_points(self, visit: Visit, site: Any) -> None:
        page = _text(visit("tara").get("/courses/demo/scores"))
        assert f'<a href="/submissions/{site.submissions["accepted"]}">71.5</a>' in page
        assert "Ada Lovelace" in page
        assert 'href="/courses/demo/scores"' in _text(visit("tara").get("/courses/demo"))
        found = _text(visit("tara").get("/courses/demo/scores?q=LOVE"))
        assert "Ada Lovelace" in found
        assert "grace" not in found
        assert "Nobody here" in _text(visit("tara").get("/courses/demo/scores?q=zzz"))

    def test_they_are_a_spreadsheet_too(self, visit: Visit) -> None:
        answer = visit("tara").get("/courses/demo/scores.csv")
        assert answer.headers["content-disposition"] == 'attachment; filename="demo-scores.csv"'
        lines = answer.content.decode("utf-8-sig").splitlines()
        assert lines[0] == "login,name,email,team,kernels/double points,kernels/double fraction"
        assert lines[1] == "ada,Ada Lovelace,,ada,71.5,0.61"

    @pytest.mark.parametrize("path", ["/courses/demo/scores", "/courses/demo/scores.csv"])
    def test_students_do_not(self, visit: Visit, path: str) -> None:
        _text(visit("ada").get(path), 403)
        _text(visit("nobody").get(path), 404)
        assert "/courses/demo/scores" not in _text(visit("ada").get("/courses/demo"))


class TestAgain:
    def test_the_form_begins_with_the_code_of_the_last_one(self, visit: Visit, site: Any, seed: Any) -> None:
        client = visit("ada")
        address = f"{seed.ADDRESS}?again={site.submissions['wrong']}"
        assert f'href="{address}#submit"' in _text(client.get(f"/submissions/{site.submissions['wrong']}"))
        page = _text(client.get(address))
        assert "y.copy_(x * 2)  # as asked" in page
        assert '<option value="python" selected>' in page

    def test_nobody_begins_with_the_code_of_another_team(self, visit: Visit, site: Any, seed: Any) -> None:
        for found in (site.submissions["second"], "nothing", "%00", "x" * 64):
            assert "# as asked" not in visit("ada").get(f"{seed.ADDRESS}?again={found}").text
        # Staff see a student's page, but hand in for themselves.
        page = _text(visit("tara").get(f"/submissions/{site.submissions['wrong']}"))
        assert "?again=" not in page

    def test_it_says_which_submission_counts(self, visit: Visit, site: Any) -> None:
        wrong = _text(visit("ada").get(f"/submissions/{site.submissions['wrong']}"))
        assert re.search(rf'Your best</dt><dd><a href="/submissions/{site.submissions["accepted"]}">', wrong)
        assert "Your best" not in _text(visit("ada").get(f"/submissions/{site.submissions['accepted']}"))


def test_a_deadline_counts_down(visit: Visit, seed: Any) -> None:
    for address in ("/courses/demo", seed.ADDRESS):
        page = _text(visit("ada").get(address))
        assert re.search(r'closes in <span class="number" data-until="\d+\.\d+">2 d 23 h</span>', page)
        assert re.search(r'<body data-now="\d+\.\d+" data-units="d h min s">', page)
        chinese = _text(visit("ada", "zh").get(address))
        assert 'data-units="天 小时 分 秒"' in chinese
        assert not re.search(r"\d (min|s|h|d)\b", re.sub(r"<[^>]*>", " ", chinese))


@pytest.mark.parametrize(
    ("seconds", "text", "soon"),
    [(3 * 86400 + 5000, "3 d 1 h", False), (86399, "23 h 59 min", True), (250, "4 min 10 s", True),
     (7, "7 s", True), (0, "", False), (-5, "", False)],
)  # fmt: skip
def test_the_time_left(seconds: int, text: str, soon: bool) -> None:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    until = now + timedelta(seconds=seconds)
    assert (remaining(until, now, "en"), is_soon(until, now)) == (text, soon)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0012, "1.20 ms"), (12.3, "12.3 秒"), (250, "4 分 10 秒"), (7205, "2 小时 5 秒"), (None, "–")],
)
def test_spans_of_time_are_told_in_chinese(seconds: float | None, text: str) -> None:
    assert duration(seconds, "zh") == text
    now = datetime(2026, 11, 30, tzinfo=UTC)
    assert remaining(now + timedelta(days=3, hours=1), now, "zh") == "3 天 1 小时"


class TestAccount:
    def test_a_token_is_shown_once_works_and_is_revoked(self, visit: Visit, address: str) -> None:
        client = visit("ada")
        secret = re.search(r"smk_[\w-]+", _text(client.post("/account/tokens", data={"name": "laptop"})))
        assert secret is not None
        page = _text(client.get("/account"))
        assert secret[0] not in page
        bearer = {"authorization": f"Bearer {secret[0]}"}
        assert httpx.get(f"{address}/api/v1/me", headers=bearer).json()["login"] == "ada"
        form = re.search(r'action="(/account/tokens/\d+/revoke)"', page)
        assert form is not None
        assert client.post(form[1]).status_code == 303
        assert httpx.get(f"{address}/api/v1/me", headers=bearer).status_code == 401

    def test_the_password_changes_only_with_the_old_one(self, visit: Visit, seed: Any) -> None:
        client = visit("nobody")

        def change(current: str, new: str, again: str) -> httpx.Response:
            return client.post("/account/password", data={"current": current, "new": new, "again": again})

        assert "differ" in _text(change(seed.PASSWORD, "a longer password", "another one"), 422)
        assert "is wrong" in _text(change("wrong", "a longer password", "a longer password"), 401)
        assert "characters" in _text(change(seed.PASSWORD, "short", "short"), 422)
        assert change(seed.PASSWORD, "a longer password", "a longer password").status_code == 303
        assert client.get("/account").status_code == 200
        assert change("a longer password", seed.PASSWORD, seed.PASSWORD).status_code == 303


@pytest.mark.parametrize(("language", "heading"), [("en", "Not found"), ("zh", "未找到")])
def test_errors_are_pages_in_the_readers_language(visit: Visit, language: str, heading: str) -> None:
    assert f"<h1>{heading}</h1>" in _text(visit("ada", language).get("/nothing/here"), 404)
    assert visit("ada", language).get("/staff/queue").status_code == 403
    assert _text(visit("ada", language).post("/account/tokens"), 422)


def test_an_errors_page_says_who_is_logged_in_too(visit: Visit) -> None:
    client = visit("tara")
    for answer in (
        client.get("/nothing/here"),
        client.get("/submissions/nothing"),
        client.post("/courses"),
        client.post("/account/tokens"),
        client.post("/logout", headers={"origin": "https://evil.example"}),
    ):
        assert answer.status_code >= 400
        assert 'href="/account"' in answer.text, answer.url
        assert 'action="/logout"' in answer.text
        assert 'href="/staff/queue"' in answer.text
    cookies = dict(client.cookies)
    client.post("/logout")
    client.cookies.update(cookies)  # Of a session that is over.
    for page in (client.get("/nothing/here").text, visit().get("/nothing/here").text):
        assert 'action="/logout"' not in page
        assert 'href="/login"' in page


def test_the_page_of_a_failure_needs_no_database(
    visit: Visit, site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = visit("ada")

    def away(*_: object) -> None:
        raise OperationalError("SELECT 1", {}, Exception("the database is away"))

    monkeypatch.setattr(type(site.database), "read", away)
    for address, status in (("/courses", 503), ("/nothing/here", 404)):
        page = _text(client.get(address), status)
        assert 'href="/courses"' in page
        assert 'href="/login"' not in page  # Nobody knows who reads it.


def test_an_error_whose_page_fails_too_is_answered_all_the_same(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no template")

    monkeypatch.setattr("server.web.site.page", broken)
    answer = visit("ada").get("/nothing/here")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_a_program_gets_json_and_static_files_may_be_kept(visit: Visit) -> None:
    client = visit()
    assert (
        client.get("/nothing", headers={"accept": "application/json"}).json()["error"]["code"] == "not_found"
    )
    sheet = re.search(r"/static/site\.css\?v=\w+", client.get("/login").text)
    assert sheet is not None
    assert "immutable" in client.get(sheet[0]).headers["cache-control"]
    assert client.get("/static/../render.py").status_code == 404


def test_the_map_of_the_course_shows_what_is_built_and_ones_own_best(visit: Visit, site: Any) -> None:
    page = visit("ada").get("/courses/demo/map")
    assert page.status_code == 200
    assert page.text.count('scope="row"') > 45
    assert "45 topics" in page.text
    assert "not yet built" in page.text
    assert "课程地图" in visit("ada", "zh").get("/courses/demo/map").text
    assert 'href="/courses/demo/map"' in visit("ada").get("/courses/demo").text
