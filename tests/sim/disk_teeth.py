"""Brokers with one rule about disks taken away, as in `teeth`."""

from typing import Any

from pytest import MonkeyPatch

from headrace.broker.disk.known_replicas import KnownReplicas
from headrace.broker.disk.watch import DiskWatch
from headrace.broker.hosting.openings import Openings
from headrace.broker.hosting.reconciliation import Reconciliation
from headrace.broker.membership.metadata import Metadata
from headrace.log import opening
from sim.storm import Plan
from sim.teeth import LOST, Tooth


def an_unclean_start_trusts_the_page_cache(patch: MonkeyPatch) -> None:
    """After an unclean stop all above the recovery point is written again, since a failed sync may have come before."""
    patch.setattr(opening, "_write_again", lambda *recovered: None)


def an_unclean_start_trusts_names(patch: MonkeyPatch) -> None:
    """After an unclean stop the directories of every log are synced again before anything in it counts as synced."""
    patch.setattr(opening, "_prove_names", lambda log: None)


def a_hung_disk_costs_nobody_its_lease(patch: MonkeyPatch) -> None:
    """A broker whose disk hangs gives its lease back."""
    patch.setattr(DiskWatch, "on_tick", lambda self: None)


def images_wait_for_the_disk(patch: MonkeyPatch) -> None:
    """A broker whose disk hangs believes in no old image: partitions are opened beside the image, a lease is worth no
    more than the image, and a broker whose disk hangs gives its lease back. Each alone is enough."""
    reconcile = Reconciliation.reconcile

    async def reconcile_and_open(self: Reconciliation, *image: Any) -> Any:
        changed = await reconcile(self, *image)
        await self._openings.open_waiting()
        return changed

    patch.setattr(Reconciliation, "reconcile", reconcile_and_open)
    patch.setattr(Openings, "run", _nothing)
    patch.setattr(Metadata, "as_of", lambda self: self._mono())
    patch.setattr(DiskWatch, "on_tick", lambda self: None)


def vanished_replicas_are_new(patch: MonkeyPatch) -> None:
    """A replica that was on this disk before and has no directory any more is damaged, not new."""
    patch.setattr(KnownReplicas, "__contains__", lambda self, written_as: False)


async def _nothing(self: Openings) -> None:
    return


ALONE = Plan(brokers=1, scenario="disks", seconds=10.0, pace=0.03, gap=0.6)
HANGS = ALONE._replace(brokers=3, scenario="hangs", pace=0.3)
RARE_HANGS = HANGS._replace(pace=0.1, gap=8.0, seconds=40.0)

DISK_TEETH = (
    Tooth("an-unclean-start-trusts-the-page-cache", an_unclean_start_trusts_the_page_cache, LOST, ALONE),
    Tooth("an-unclean-start-trusts-names", an_unclean_start_trusts_names, LOST, ALONE),
    Tooth("a-hung-disk-costs-nobody-its-lease", a_hung_disk_costs_nobody_its_lease, ("goes-on",), RARE_HANGS),
    Tooth("images-wait-for-the-disk", images_wait_for_the_disk, ("fresh",), HANGS),
)
