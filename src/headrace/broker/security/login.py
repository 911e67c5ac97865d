"""A login that has succeeded: who it is, for how long, and by which token, if it was one."""

from typing import NamedTuple

from headrace.security.scope import Scope


class Login(NamedTuple):
    user: str
    lifetime_ms: int | None = None
    """How long the login is good, where its token says so."""
    token_id: str = ""
    """The delegation token that it is by, if any."""
    scope: Scope | None = None
    """The part of the user's rights that the token leaves."""
    fingerprints: tuple[str, ...] = ()
    """The fingerprints of a narrowed token, and of what it was narrowed from."""
