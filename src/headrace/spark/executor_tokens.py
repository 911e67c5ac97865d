"""Scoped tokens for tasks, made on the driver as the user of the options, and kept while they are good for long enough."""

import asyncio
import logging
import time
from typing import NamedTuple

from headrace.admin.admin import Admin
from headrace.admin.scoped import make_scoped_token, narrower
from headrace.admin.tokens import end_token
from headrace.base.bootstrap import parse_bootstrap
from headrace.base.errors import Refused, UserError
from headrace.client.peer import Address, Peer
from headrace.client.scoped_login import is_scoped, scoped_login
from headrace.client.security import Sasl, Security
from headrace.spark.clients import Reaching
from headrace.spark.loop_thread import loop_thread
from headrace.spark.options import HiddenOptions, login_of

logger = logging.getLogger("headrace.spark")

LIFETIME_MS = 24 * 3600 * 1000
# How long all brokers may take to hear of a token.
TAKEN_SECONDS_MAX = 10.0
TAKEN_PAUSE_SECONDS = 0.05
# Before a cluster that makes none is asked again.
NONE_SECONDS = 600.0


class _Kept(NamedTuple):
    security: HiddenOptions
    until: float


_Asked = tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]]
_kept: dict[_Asked, _Kept] = {}


def token_security(options: Reaching, grants: tuple[str, ...], is_required: bool) -> HiddenOptions:
    asked = options.bootstrap, tuple(options.security), grants
    kept = _kept.get(asked)
    if kept is None or time.monotonic() > kept.until:
        kept = _kept[asked] = _made(options, grants, is_required)
    return kept.security


def _made(options: Reaching, grants: tuple[str, ...], is_required: bool) -> _Kept:
    try:
        return loop_thread().run(_make(options, grants))
    except Refused as refusal:
        if is_required:
            raise UserError(
                f"executorToken=required, and the cluster gave no token for the tasks: {refusal.message}",
                "log in without a token, to a cluster of Headrace; or leave executorToken out",
            ) from None
        logger.warning("tasks log in as the owner, the cluster gave no token: %(cause)s", {"cause": refusal.message})
        return _Kept(HiddenOptions(options.security), time.monotonic() + NONE_SECONDS)


async def _make(options: Reaching, grants: tuple[str, ...]) -> _Kept:
    given = dict(options.security)
    security = login_of(options.security)
    assert security is not None and security.sasl is not None, "there is a login"
    own = await _own_token(security.sasl)
    if own:
        # Whoever has a token narrows it without a broker.
        return _Kept(
            _told(given, scoped_login(narrower(own, grants), security.sasl.mechanism)), time.monotonic() + 3600
        )
    admin = Admin(parse_bootstrap(options.bootstrap), options.client_id, security)
    try:
        made = await make_scoped_token(admin, grants, LIFETIME_MS)
        login = scoped_login(made.text, security.sasl.mechanism)
        brokers = [(each.host, each.port) for each in (await admin.describe_cluster()).brokers if not each.is_fenced]
        try:
            await _until_taken(brokers, options.client_id, security._replace(sasl=login))
        except Refused:
            await end_token(admin, made.id)
            raise
    finally:
        admin.close()
    seconds_left = made.expires_ms / 1000 - time.time()
    return _Kept(_told(given, login), time.monotonic() + seconds_left / 2)


async def _own_token(sasl: Sasl) -> str:
    if is_scoped(sasl.username):
        return f"{sasl.username}.{sasl.password}"
    given = sasl.password if sasl.token is None else await asyncio.to_thread(sasl.token)
    return given if is_scoped(given) else ""


def _told(given: dict[str, str], login: Sasl) -> HiddenOptions:
    rest = {name: value for name, value in given.items() if not name.startswith("sasl.")}
    sasl = {"sasl.mechanism": login.mechanism, "sasl.username": login.username, "sasl.password": login.password}
    return HiddenOptions(sorted({**rest, **sasl}.items()))


async def _until_taken(brokers: list[Address], client_id: str, security: Security) -> None:
    """Waits for every broker to know it: a task that came too early would fail."""
    deadline = time.monotonic() + TAKEN_SECONDS_MAX
    for address in brokers:
        while True:
            try:
                peer = await Peer.open(address, client_id, security)
            except Refused:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(TAKEN_PAUSE_SECONDS)
            else:
                peer.connection.close()
                break
