"""The admin client as all commands use it: one event loop for a command, and failures in plain words."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from headrace.admin.admin import Admin
from headrace.admin.reset import NothingToShift
from headrace.base.errors import Refused
from headrace.cli.client_file import client_settings
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.reachable import parse_bootstrap, require_reachable
from headrace.client.connection import Disconnected
from headrace.client.security import security_from
from headrace.client.writer_client import WriterClient
from headrace.wire.codes import ErrorCode, advice_for

T = TypeVar("T")

_EXITS: dict[int, ExitCode] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ExitCode.NOT_FOUND,
    ErrorCode.GROUP_ID_NOT_FOUND: ExitCode.NOT_FOUND,
    ErrorCode.BROKER_ID_NOT_REGISTERED: ExitCode.NOT_FOUND,
    ErrorCode.RESOURCE_NOT_FOUND: ExitCode.NOT_FOUND,
    ErrorCode.DELEGATION_TOKEN_NOT_FOUND: ExitCode.NOT_FOUND,
}
_FIXES: dict[int, str] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "`headrace topic list` shows the topics",
    ErrorCode.GROUP_ID_NOT_FOUND: "`headrace group list` shows the groups",
    ErrorCode.RESOURCE_NOT_FOUND: "`headrace user list` shows the users",
    ErrorCode.DELEGATION_TOKEN_NOT_FOUND: "`headrace token list` shows the tokens",
    ErrorCode.NON_EMPTY_GROUP: f"{advice_for(ErrorCode.NON_EMPTY_GROUP)}; `headrace group members` shows them",
    ErrorCode.UNSUPPORTED_VERSION: "this cluster does not offer that; `headrace version` shows ours",
    ErrorCode.REQUEST_TIMED_OUT: "`headrace cluster status` shows what was done; ask again",
}


def with_admin(bootstrap: str, work: Callable[[Admin], Awaitable[T]]) -> T:
    require_reachable(bootstrap)
    try:
        return asyncio.run(_with_admin(bootstrap, work))
    except Refused as refusal:
        raise refused(refusal) from None
    except Disconnected as error:
        raise Failure(f"no broker answers ({error})", "`headrace doctor` looks closer", ExitCode.UNREACHABLE) from None


def with_clients(bootstrap: str, work: Callable[[Admin, WriterClient], Awaitable[T]]) -> T:
    """The same with a client beside it that reads and writes partitions."""

    async def with_both(admin: Admin) -> T:
        client = WriterClient(bootstrap, client_id=_client_id(), security=security_from(client_settings()))
        try:
            return await work(admin, client)
        finally:
            await client.close()

    return with_admin(bootstrap, with_both)


async def _with_admin(bootstrap: str, work: Callable[[Admin], Awaitable[T]]) -> T:
    admin = Admin(parse_bootstrap(bootstrap), _client_id(), security_from(client_settings()))
    try:
        return await work(admin)
    finally:
        admin.close()


def _client_id() -> str:
    return client_settings().get("client.id", "headrace-cli")


def refused(refusal: Refused, what: str = "") -> Failure:
    cause = f"{what}: {refusal.message}" if what else refusal.message
    fix = _FIXES.get(refusal.code) or advice_for(refusal.code) or "`headrace cluster status` shows how things stand"
    if isinstance(refusal, NothingToShift):
        return Failure(cause, "as with --to-earliest", ExitCode.USAGE)
    return Failure(cause, fix, _EXITS.get(refusal.code, ExitCode.REFUSED))
