"""Logging in: by password, session and token; what an attacker gets."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from server import credentials
from server.accounts import service
from server.db.models import LoginFailure, User
from server.db.session import Database
from server.errors import Conflict, Invalid, LoginFailed, NotFound, TooManyLogins
from server.settings import Settings

PASSWORD = "correct horse battery"


def _log_in(database: Database, settings: Settings, world: Any, **given: Any) -> User:
    values = {"login": "ann", "password": PASSWORD, "address": "192.0.2.1", "now": world.now} | given
    with database.begin() as session:
        return service.log_in(session, settings, **values)


@pytest.fixture
def limited(settings: Settings) -> Settings:
    return settings.model_copy(update={"login_attempts": 3, "login_window_seconds": 600})


def test_the_right_password_logs_in_however_the_name_is_written(
    database: Database, settings: Settings, grader: Any
) -> None:
    assert _log_in(database, settings, grader, login=" Ann ").login == "ann"


@pytest.mark.parametrize("given", [{"password": "wrong"}, {"login": "nobody"}, {"password": ""}])
def test_a_failed_login_does_not_say_what_was_wrong(
    database: Database, settings: Settings, grader: Any, given: dict[str, str]
) -> None:
    with pytest.raises(LoginFailed) as caught:
        _log_in(database, settings, grader, **given)
    assert caught.value.message == LoginFailed.en


def test_logins_of_one_name_are_limited_and_failures_survive_their_transaction(
    database: Database, limited: Settings, grader: Any
) -> None:
    for _ in range(3):
        with pytest.raises(LoginFailed):
            _log_in(database, limited, grader, password="wrong")
    with pytest.raises(TooManyLogins) as caught:
        _log_in(database, limited, grader)  # Even with the right password.
    assert 0 < caught.value.details["retry_after"] <= 600
    assert caught.value.headers["Retry-After"] == str(caught.value.details["retry_after"])
    assert _log_in(database, limited, grader, login="bob").login == "bob"
    grader.wait(601)
    assert _log_in(database, limited, grader).login == "ann"


def test_logins_from_one_address_are_limited_across_names(
    database: Database, limited: Settings, grader: Any
) -> None:
    for number in range(30):
        with pytest.raises(LoginFailed):
            _log_in(database, limited, grader, login=f"guess{number}", password="wrong")
    with pytest.raises(TooManyLogins):
        _log_in(database, limited, grader)
    assert _log_in(database, limited, grader, address="192.0.2.2").login == "ann"


def test_logins_at_once_are_limited_as_one_after_the_other(
    database: Database, limited: Settings, grader: Any
) -> None:
    def one(_: int) -> type[Exception]:
        with pytest.raises((LoginFailed, TooManyLogins)) as caught:
            _log_in(database, limited, grader, password="wrong")
        return caught.type

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(one, range(24)))
    assert answers.count(LoginFailed) == 3


def test_others_write_while_a_password_is_hashed(
    database: Database, settings: Settings, grader: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = credentials.password_matches

    def hashing(*given: Any) -> bool:
        with database.begin() as session:  # On SQLite this would wait for the login's lock, in vain.
            service.create_user(session, settings, login="carl", name="Carl", password=PASSWORD)
        return checked(*given)

    monkeypatch.setattr(credentials, "password_matches", hashing)
    assert _log_in(database, settings, grader).login == "ann"


def test_a_login_that_succeeds_leaves_no_failure(database: Database, limited: Settings, grader: Any) -> None:
    for _ in range(40):
        assert _log_in(database, limited, grader).login == "ann"
    with database.read() as session:
        assert session.scalars(select(LoginFailure)).all() == []


def test_a_deactivated_user_is_out(database: Database, settings: Settings, grader: Any) -> None:
    with database.begin() as session:
        user = service.find_user(session, "ann")
        assert user is not None
        cookie = service.open_session(session, settings, user)
        _, secret = service.create_token(session, user, name="t")
        user.active = False
    with pytest.raises(LoginFailed):
        _log_in(database, settings, grader)
    with database.read() as session:
        assert service.session_user(session, settings, cookie) is None
        assert service.token_user(session, secret) is None


def test_a_session_ends_by_logout_expiry_and_a_new_password(
    database: Database, settings: Settings, grader: Any
) -> None:
    with database.begin() as session:
        user = service.find_user(session, "ann")
        assert user is not None
        first, second, third = (
            service.open_session(session, settings, user, now=grader.now) for _ in range(3)
        )
    with database.begin() as session:
        found = service.session_user(session, settings, first, now=grader.now)
        assert found is not None
        assert found.login == "ann"
        assert service.session_user(session, settings, first[:-2] + "xx", now=grader.now) is None
        service.close_session(session, settings, first)
        assert service.session_user(session, settings, first, now=grader.now) is None
        later = grader.now + timedelta(days=settings.session_days)
        assert service.session_user(session, settings, second, now=later) is None
        service.set_password(session, settings, found, "another long password")
        assert service.session_user(session, settings, third, now=grader.now) is None


def test_tokens_are_stored_as_digests_expire_and_are_revoked(
    database: Database, settings: Settings, grader: Any
) -> None:
    with database.begin() as session:
        user, other = service.find_user(session, "ann"), service.find_user(session, "bob")
        assert user is not None
        assert other is not None
        expires = grader.now + timedelta(days=1)
        token, secret = service.create_token(session, user, name="laptop", expires=expires)
        assert secret not in str(vars(token))
        found = service.token_user(session, secret, now=grader.now)
        assert found is not None
        assert found[0].login == "ann"
        assert service.token_user(session, secret, now=expires) is None
        with pytest.raises(NotFound):
            service.revoke_token(session, other, token.id)
        service.revoke_token(session, user, token.id)
        assert service.token_user(session, secret, now=grader.now) is None
        assert service.tokens(session, user) == []
        with pytest.raises(Invalid):
            service.create_token(session, user, name="x", scopes=["everything"])


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"login": "ANN"}, Conflict),
        ({"login": "an n"}, Invalid),
        ({"login": "-x"}, Invalid),
        ({"login": "x" * 65}, Invalid),
        ({"login": ""}, Invalid),
        ({"name": " "}, Invalid),
        ({"password": "short"}, Invalid),
        ({"password": "x" * 257}, Invalid),
    ],
)
def test_users_that_cannot_be_created(
    database: Database, settings: Settings, world: Any, changes: dict[str, str], error: type[Exception]
) -> None:
    values: dict[str, Any] = {"login": "carl", "name": "Carl", "password": PASSWORD} | changes
    with pytest.raises(error), database.begin() as session:
        service.create_user(session, settings, **values)
