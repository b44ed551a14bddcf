"""Who may read `/metrics`, and what it says without a broker."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from pydantic import SecretStr

from server.app import create_app
from server.db.session import Database
from server.settings import Settings

HERE, ELSEWHERE = ("127.0.0.1", 50000), ("203.0.113.5", 50000)


def ask(
    settings: Settings, database: Database, address: tuple[str, int], headers: dict[str, str]
) -> httpx.Response:
    """The answer to a request that comes from that address."""

    async def request() -> httpx.Response:
        transport = httpx.ASGITransport(create_app(settings, database=database), client=address)
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
            return await client.get("/metrics", headers=headers)

    with ThreadPoolExecutor(1) as pool:  # The browser's tests leave a loop running in this thread.
        return pool.submit(asyncio.run, request()).result()


@pytest.mark.parametrize(
    ("address", "headers", "expected"),
    [
        (HERE, {}, 200),
        (("::1", 50000), {}, 200),
        (ELSEWHERE, {}, 403),
        (HERE, {"X-Forwarded-For": "203.0.113.5"}, 403),
        (HERE, {"forwarded": "for=203.0.113.5"}, 403),
        (HERE, {"via": "1.1 proxy"}, 403),
        (ELSEWHERE, {"authorization": "Bearer x"}, 403),
    ],
)
def test_without_a_token_only_the_machine_itself_reads(
    settings: Settings, database: Database, address: tuple[str, int], headers: dict[str, str], expected: int
) -> None:
    assert ask(settings, database, address, headers).status_code == expected


@pytest.mark.parametrize("address", [HERE, ELSEWHERE])
def test_with_a_token_only_who_has_it_reads(
    settings: Settings, database: Database, address: tuple[str, int]
) -> None:
    settings = settings.model_copy(update={"metrics_token": SecretStr("a secret of operators")})
    given = {"Bearer a secret of operators": 200, "Bearer x": 401, "Basic a secret of operators": 401}
    assert ask(settings, database, address, {}).status_code == 401
    for header, expected in given.items():
        assert ask(settings, database, address, {"Authorization": header}).status_code == expected


def test_without_a_broker_the_database_still_tells(settings: Settings, database: Database) -> None:
    text = ask(settings, database, HERE, {}).text
    assert 'solmark_up{part="database"} 1.0' in text
    assert 'solmark_up{part="broker"} 0.0' in text
    assert "solmark_attempts_total" in text
    assert "solmark_report" not in text
