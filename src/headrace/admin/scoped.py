"""A scoped token made for a piece of work: a delegation token of whoever asks, narrowed before anybody else sees it."""

from collections.abc import Sequence
from typing import NamedTuple

from headrace.admin.admin import Admin
from headrace.admin.tokens import create_token
from headrace.base.errors import UserError
from headrace.security.scoped_tokens import BadToken, narrowed, parse_token, whole_token


class ScopedTokenMade(NamedTuple):
    id: str
    text: str
    """The token: a secret."""
    owner: str
    expires_ms: int
    max_ms: int

    def __repr__(self) -> str:
        return f"ScopedTokenMade({self.id!r}, ***, {self.owner!r}, {self.expires_ms}, {self.max_ms})"


def narrower(token: str, grants: Sequence[str]) -> str:
    """A token made of this one, which may do no more than `grants`."""
    try:
        return narrowed(parse_token(token), [{"may": list(grants)}]).text
    except BadToken as error:
        raise UserError(f"the token of this login cannot be narrowed: {error}", "log in with another one") from None


async def make_scoped_token(
    admin: Admin, grants: Sequence[str], lifetime_ms: int | None = None, renewers: Sequence[str] = ()
) -> ScopedTokenMade:
    """A token of whoever asks that may do no more than `grants`, each as `read topic orders`."""
    caveats = [{"may": list(grants)}]
    try:
        # What no broker would understand is found out before there is a token.
        narrowed(whole_token("0" * 36, b""), caveats)
        made = await create_token(admin, None, lifetime_ms, renewers)
        token = narrowed(whole_token(made.id, made.key), caveats)
    except BadToken as error:
        raise UserError(f"no scoped token can be made: {error}", "name fewer or shorter topics and groups") from None
    return ScopedTokenMade(made.id, token.text, made.owner, made.expires_ms, made.max_ms)
