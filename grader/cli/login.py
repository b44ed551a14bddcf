"""`solmark login`: get an API token for this machine and remember it."""

import os
import sys
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from grader.cli import answers, exit_codes
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
    secret = (
        _read_secret(pick("API token", "API 令牌"), errors) if token else _new_token(address, user, errors)
    )
    config = Config(server=address, token=secret)
    with session(errors, config) as client:
        me = client.get("me", answers.Me)
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
    if not user and not sys.stdin.isatty():
        _refuse(
            pick(
                "There is no terminal to ask for a name and password: give --user and the password on "
                "standard input, or --token and an API token on standard input.",
                "没有终端可供输入用户名和密码：请用 --user 并从标准输入给出密码，"
                "或用 --token 并从标准输入给出 API 令牌。",
            ),
            errors,
        )
    login = user or _ask(pick("User name", "用户名"), errors)
    password = _read_secret(pick("Password", "密码"), errors)
    body = {"name": f"solmark on {os.uname().nodename}"[:64], "login": login, "password": password}
    with session(errors, Config(server=address)) as client:
        return str(client.post("tokens", answers.NewToken, body)["token"])


def _read_secret(label: str, errors: Console) -> str:
    if sys.stdin.isatty():
        return _ask(label, errors, hidden=True)
    secret = sys.stdin.readline().strip()
    if not secret:
        _refuse(
            pick(
                f"{label}: standard input is empty, and there is no terminal to ask.",
                f"{label}：标准输入为空，也没有终端可供输入。",
            ),
            errors,
        )
    return secret


def _ask(label: str, errors: Console, *, hidden: bool = False) -> str:
    try:
        return str(typer.prompt(label, hide_input=hidden, err=True))
    except typer.Abort:
        errors.print()
        errors.print(pick("Cancelled.", "已取消。"))
        raise typer.Exit(exit_codes.INTERRUPTED) from None


def _refuse(text: str, errors: Console) -> NoReturn:
    errors.print(text, style="red", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(exit_codes.USAGE)
