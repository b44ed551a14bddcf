"""What the API says of people and tokens."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from server.schemas import Body, Moment


class LoginBody(Body):
    """Name and password."""

    login: str = Field(max_length=254)
    password: str = Field(max_length=1024)


class TokenBody(Body):
    """A token to create; with name and password where no session or token comes with the request."""

    name: str = Field(min_length=1, max_length=64)
    scopes: Sequence[Literal["read", "submit", "staff"]] = Field(default=("read", "submit"), min_length=1)
    expires: Moment | None = None
    login: str | None = Field(default=None, max_length=254)
    password: str | None = Field(default=None, max_length=1024)


class UserBody(Body):
    """A user to create."""

    login: str
    name: str
    password: str | None = None
    email: str | None = Field(default=None, max_length=254, pattern=r"^[^@\s]+@[^@\s]+$")


class UserOut(BaseModel):
    """A person."""

    model_config = ConfigDict(from_attributes=True)

    login: str
    name: str
    site_admin: bool


class MeCourse(BaseModel):
    """A course of the caller."""

    slug: str
    role: str


class MeOut(UserOut):
    """The caller."""

    courses: list[MeCourse]


class TokenOut(BaseModel):
    """A token, without its secret."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    name: str
    scopes: list[str]
    created: datetime
    expires: datetime | None
    last_used: datetime | None


class NewTokenOut(TokenOut):
    """A token that was just created: its secret is shown this once."""

    token: str


class VersionOut(BaseModel):
    """Versions, by which a client knows whether it fits."""

    version: str
    api: int
    contract: int
