"""Users written straight into a metadata store: the first ones of a cluster, which no broker could be asked for."""

from collections.abc import Iterable

from headrace.base.errors import StoreUnreachable
from headrace.base.system_clock import SystemClock
from headrace.cli.failure import ExitCode, Failure
from headrace.cluster.image import Image
from headrace.cluster.store import Conflict, MetaStore, commit_all
from headrace.security.users import Upsertion, alter_users
from headrace.stores.open import open_store
from headrace.wire.messages.scram import ScramCredentialUpsertion

TRIES = 5


async def put_users(where: str, credentials: Iterable[ScramCredentialUpsertion]) -> None:
    """Brokers that run on the store know the users at once."""
    try:
        store = await open_store(where, SystemClock())
        try:
            for each in credentials:
                await _put(
                    store, Upsertion(each.name, each.mechanism, each.iterations, each.salt, each.salted_password)
                )
        finally:
            await store.close()
    except StoreUnreachable as error:
        raise Failure(f"{where} does not answer: {error}", "see to the metadata store", ExitCode.UNREACHABLE) from None


async def _put(store: MetaStore, wanted: Upsertion) -> None:
    for _ in range(TRIES):
        snapshot = await store.load()
        altered = alter_users(Image().apply(snapshot.changes(), snapshot.revision), [wanted])
        refusal = altered.refusals[wanted.user]
        if refusal is not None:
            raise Failure(refusal.message, "choose another one", ExitCode.REFUSED)
        try:
            await commit_all(store, altered.commits)
        except Conflict:
            continue
        return
    raise Failure("others change the same user", "try again")
