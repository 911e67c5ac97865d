"""Rules of the etcd adapter, each taken away: storms must notice."""

from typing import Any

from pytest import MonkeyPatch

from headrace.stores import etcd_watch
from headrace.stores.etcd_leases import EtcdLeases
from headrace.stores.etcd_map import EtcdMap
from headrace.stores.etcd_messages import KEEP_ALIVE
from headrace.stores.etcd_watch import WholeCommits


def commits_have_no_receipt(patch: MonkeyPatch) -> None:
    whole = EtcdMap._commit_txn

    def bare(self: EtcdMap, *args: Any, **named: Any) -> Any:
        txn = whole(self, *args)
        return {**txn, "compare": txn["compare"][1:]}

    patch.setattr(EtcdMap, "_commit_txn", bare)


def a_refusal_is_not_written_down(patch: MonkeyPatch) -> None:
    whole = EtcdMap._commit_txn
    patch.setattr(EtcdMap, "_commit_txn", lambda self, *args, **named: whole(self, *args))


def commits_compare_nothing(patch: MonkeyPatch) -> None:
    patch.setattr(EtcdMap, "_comparisons", lambda self, expect: [])


def a_keep_alive_is_believed(patch: MonkeyPatch) -> None:
    async def hasty(self: EtcdLeases, lease: Any) -> None:
        async with self._gateway.within_deadline():
            await self._gateway.call(KEEP_ALIVE, {"ID": await self._id_of(lease)})

    patch.setattr(EtcdLeases, "renew", hasty)


def leases_are_taken_without_a_look(patch: MonkeyPatch) -> None:
    patch.setattr(EtcdLeases, "_refuse_if_held", lambda self, lease, found: None)


def commits_are_told_in_pieces(patch: MonkeyPatch) -> None:
    take = WholeCommits.take
    patch.setattr(WholeCommits, "take", lambda self, message: take(self, {**message, "fragment": False}))


def a_silent_stream_is_trusted(patch: MonkeyPatch) -> None:
    patch.setattr(etcd_watch, "SILENCE_S", 10_000.0)


def a_restored_store_is_believed(patch: MonkeyPatch) -> None:
    patch.setattr(EtcdMap, "_tell", lambda self, revision, told: revision)


ETCD_TEETH = {
    commits_have_no_receipt: ("done-once", "in-order", "compare"),
    a_refusal_is_not_written_down: ("done-once", "in-order"),
    commits_compare_nothing: ("compare",),
    a_keep_alive_is_believed: ("one-holder",),
    leases_are_taken_without_a_look: ("one-holder",),
    commits_are_told_in_pieces: ("watch", "no-bug"),
    a_silent_stream_is_trusted: ("caught-up",),
    a_restored_store_is_believed: ("went-back",),
}
