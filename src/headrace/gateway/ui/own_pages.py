"""Open pages belong to the log-in that opened them: no other connects to them or sends them events, and they end with it."""

import asyncio
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from nicegui import Client, core
from starlette.types import Scope

from headrace.gateway.callers.reception import LOGIN
from headrace.gateway.callers.visits import VISIT, Visit
from headrace.gateway.gateway import CALLER

GOODBYE_SECONDS = 0.5
# What browsers send for a page; handlers of NiceGUI.
_FROM_PAGES = ("event", "javascript_response", "ack", "log")
# The log-in of each page, by browser or by program.
_owners: "WeakKeyDictionary[Client, object]" = WeakKeyDictionary()
_holders: "WeakKeyDictionary[Client, str]" = WeakKeyDictionary()


def keep_own(client: Client, scope: Scope) -> None:
    """Lets only connections of the same log-in take up this page. Its id, which nobody can guess, is not enough."""
    owner = _owner(scope)
    if owner is None:
        return
    _owners[client] = owner
    _holders[client] = scope[CALLER].holder
    accept = client.accept_handshake

    def accept_own(socket_id: str, tab_id: Any, environ: Any) -> bool:
        is_own = _owner((environ or {}).get("asgi.scope", {})) is owner
        return is_own and not _is_over(owner) and accept(socket_id, tab_id, environ)

    client.accept_handshake = accept_own  # type: ignore[method-assign]


def pages_of(holder: str) -> int:
    """The number of open pages of one holder, in however many log-ins."""
    return sum(_holders.get(client) == holder for client in Client.instances.values())


def _is_over(owner: object) -> bool:
    """A page may have been on its way when its log-in ended."""
    return isinstance(owner, Visit) and owner.is_ended


def end_pages(visit: Visit) -> None:
    """Sends the pages of a visit to the log-in; what one of them is asked afterwards is not heard."""
    loop = asyncio.get_running_loop()
    for client in [client for client, owner in _owners.items() if owner is visit]:
        client.open(LOGIN)
        loop.call_later(GOODBYE_SECONDS, _delete, client)


def _delete(client: Client) -> None:
    if not client.is_deleted:
        client.delete()


def hear_own_events() -> None:
    """NiceGUI takes what any connection sends for the page that it names; here it has to be one that took up that page."""
    heard: dict[str, Callable[..., Any]] = core.sio.handlers["/"]
    for kind in _FROM_PAGES:
        heard[kind] = _from_own(heard[kind])


def _from_own(hear: Callable[[str, Any], Any]) -> Callable[[str, Any], None]:
    def hear_own(socket_id: str, said: Any) -> None:
        page = said.get("client_id") if isinstance(said, dict) else None
        client = Client.instances.get(str(page)) if page in core.sio.rooms(socket_id) else None
        if client is not None and not _is_over(_owners.get(client)):
            hear(socket_id, said)

    return hear_own


def _owner(scope: Scope) -> object:
    """The visit, or the login of a request that carries one itself."""
    return scope.get(VISIT) or scope.get(CALLER)
