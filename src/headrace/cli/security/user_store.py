"""Users and rules written straight into a metadata store: the first ones of a cluster, which no broker could be asked for.

Brokers that run on the store know them at once.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial

from headrace.base.errors import StoreUnreachable
from headrace.base.system_clock import SystemClock
from headrace.cli.failure import ExitCode, Failure
from headrace.cluster.acl_changes import create_acls
from headrace.cluster.entities import Acl
from headrace.cluster.image import Image
from headrace.cluster.store import Commit, Conflict, MetaStore, commit_all
from headrace.security.users import Upsertion, alter_users
from headrace.stores.open import open_store
from headrace.wire.messages.scram import ScramCredentialUpsertion

TRIES = 5


async def put_users(where: str, credentials: Iterable[ScramCredentialUpsertion]) -> None:
    async with _opened(where) as store:
        for each in credentials:
            wanted = Upsertion(each.name, each.mechanism, each.iterations, each.salt, each.salted_password)
            await _commit(store, partial(_user_commits, wanted))


async def put_rules(where: str, rules: Iterable[Acl]) -> None:
    wanted = list(rules)
    async with _opened(where) as store:
        await _commit(store, lambda image: create_acls(image, wanted))


@asynccontextmanager
async def _opened(where: str) -> AsyncIterator[MetaStore]:
    try:
        store = await open_store(where, SystemClock())
        try:
            yield store
        finally:
            await store.close()
    except StoreUnreachable as error:
        raise Failure(f"{where} does not answer: {error}", "see to the metadata store", ExitCode.UNREACHABLE) from None


def _user_commits(wanted: Upsertion, image: Image) -> Iterable[Commit]:
    altered = alter_users(image, [wanted])
    refusal = altered.refusals[wanted.user]
    if refusal is not None:
        raise Failure(refusal.message, "choose another one", ExitCode.REFUSED)
    return altered.commits


async def _commit(store: MetaStore, commits: Callable[[Image], Iterable[Commit]]) -> None:
    for _ in range(TRIES):
        snapshot = await store.load()
        try:
            await commit_all(store, commits(Image().apply(snapshot.changes(), snapshot.revision)))
        except Conflict:
            continue
        return
    raise Failure("others change the same users or rules", "try again")
