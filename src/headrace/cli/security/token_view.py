"""Tokens as they are shown: never the token itself, only what it says."""

from datetime import UTC, datetime
from typing import Any

from headrace.admin.tokens import ListedToken
from headrace.security.scoped_tokens import ScopedToken

COLUMNS = {
    "id": "ID",
    "owner": "OWNER",
    "requester": "MADE BY",
    "issued": "ISSUED",
    "expires": "EXPIRES",
    "max": "AT MOST",
}


def moment(ms: int | None) -> str | None:
    return None if ms is None else f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"


def token_view(token: ScopedToken) -> dict[str, Any]:
    """The caveats of a token, in the order in which they were added; BadToken for one that is not understood."""
    until_ms = token.scope.until_ms
    grants = [each["may"] for each in token.caveats if "may" in each]
    networks = [each["from"] for each in token.caveats if "from" in each]
    return {
        "id": token.id,
        "may": _each(grants) or "all that its owner may",
        "from": _each(networks) or "anywhere",
        "until": moment(until_ms) or "its own end",
    }


def _each(lists: list[list[str]]) -> str:
    return "; of that: ".join(", ".join(each) or "nothing" for each in lists)


def listed_view(token: ListedToken) -> dict[str, Any]:
    times = {"issued": token.issued_ms, "expires": token.expires_ms, "max": token.max_ms}
    who = {"id": token.id, "owner": token.owner, "requester": token.requester, "renewers": list(token.renewers)}
    return {**who, **{name: moment(ms) for name, ms in times.items()}}
