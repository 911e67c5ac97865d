"""The one message of PLAIN (RFC 4616): a user and a password, as they are."""

from headrace.security.refusal import LoginRefused


def parse_plain(token: bytes) -> tuple[str, str]:
    """The user and the password of `[user to act as] NUL user NUL password`; nobody acts as somebody else."""
    try:
        parts = token.decode().split("\0")
    except UnicodeDecodeError:
        raise LoginRefused("a PLAIN message that is no UTF-8") from None
    if len(parts) != 3:
        raise LoginRefused(f"a PLAIN message of {len(parts)} parts, not of three")
    acts_as, user, password = parts
    if not user or not password:
        raise LoginRefused("a PLAIN message without user or password", "PLAIN needs a user name and a password")
    if acts_as not in ("", user):
        raise LoginRefused(f"user {user!r} wants to act as another", "the authorization id must be the user name")
    return user, password
