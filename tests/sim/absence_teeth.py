"""Brokers that compact as if nobody were away, as in `teeth`."""

from pytest import MonkeyPatch

from headrace.broker.upkeep.cleaner import Cleaner


def absent_replicas_are_forgotten(patch: MonkeyPatch) -> None:
    """Tombstones and markers stay as long as a replica is not in sync: it may not have them yet."""
    patch.setattr(Cleaner, "_may_forget", lambda self, partition: True)
