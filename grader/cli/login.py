"""`solmark login`: get an API token for this machine and remember it."""

import os
import sys
from typing import Annotated

import typer
from rich.console import Console

from grader.cli.client import ClientError, check_server, session
from grader.cli.config import Config
from grader.cli.language import pick


def command(
    server: Annotated[str | None, typer.Option(help="Address of the server.")] = None,
    user: Annotated[str | None, typer.Option(help="User name; asked for if not given.")] = None,
    token: Annotated[
        bool, typer.Option("--token", help="Read an API token from standard input instead of a password.")
    ] = False,
) -> None:
    """Log in to a server; a token is kept in a file that only you can read."""
    errors = Console(stderr=True)
    try:
        address = check_server(server or Config.load().server)
    except ClientError as error:
        errors.print(str(error), style="red", markup=False)
        raise typer.Exit(error.exit_code) from error
    secret = _read_secret(pick("API token", "API 令牌")) if token else _new_token(address, user, errors)
    config = Config(server=address, token=secret)
    with session(errors, config) as client:
        me = client.get("me")
    path = config.save()
    errors.print(
        pick(
            f"Logged in to {address} as {me['login']}; the token is in {path}.",
            f"已以 {me['login']} 登录 {address}；令牌保存在 {path}。",
        ),
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _new_token(address: str, user: str | None, errors: Console) -> str:
    login = user or typer.prompt(pick("User name", "用户名"), err=True)
    password = _read_secret(pick("Password", "密码"))
    body = {"name": f"solmark on {os.uname().nodename}"[:64], "login": login, "password": password}
    with session(errors, Config(server=address)) as client:
        return str(client.post("tokens", body)["token"])


def _read_secret(label: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(label, hide_input=True, err=True))
    return sys.stdin.readline().strip()
