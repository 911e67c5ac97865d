"""Open pages belong to the log-in that opened them: no other connects to them, and they end with it."""

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

from nicegui import Client
from starlette.types import Scope

from headrace.gateway.callers.reception import LOGIN
from headrace.gateway.callers.visits import VISIT, Visit
from headrace.gateway.gateway import CALLER

GOODBYE_SECONDS = 0.5
# The log-in of each page, by browser or by program.
_owners: "WeakKeyDictionary[Client, object]" = WeakKeyDictionary()


def keep_own(client: Client, scope: Scope) -> None:
    """Lets only connections of the same log-in take up this page. Its id, which nobody can guess, is not enough."""
    owner = _owner(scope)
    if owner is None:
        return
    _owners[client] = owner
    accept = client.accept_handshake

    def accept_own(socket_id: str, tab_id: Any, environ: Any) -> bool:
        return _owner((environ or {}).get("asgi.scope", {})) is owner and accept(socket_id, tab_id, environ)

    client.accept_handshake = accept_own  # type: ignore[method-assign]


def end_pages(visit: Visit) -> None:
    """Sends the pages of a visit to the log-in; what one of them is asked afterwards is not heard."""
    loop = asyncio.get_running_loop()
    for client in [client for client, owner in _owners.items() if owner is visit]:
        client.open(LOGIN)
        loop.call_later(GOODBYE_SECONDS, client.delete)


def _owner(scope: Scope) -> object:
    """The visit, or the login of a request that carries one itself."""
    return scope.get(VISIT) or scope.get(CALLER)
