"""Brokers with one rule about full disks taken away, as in `teeth`."""

from pytest import MonkeyPatch

from headrace.broker.membership.view import View
from sim.storm import Plan
from sim.teeth import Tooth


def a_full_disk_leads_on(patch: MonkeyPatch) -> None:
    """A broker without room on its disk leads only where no replica in sync has room."""
    patch.setattr(View, "reluctant", property(lambda self: self.leaving))


FULL = Plan(
    brokers=3,
    scenario="full-disks",
    seconds=30.0,
    partitions=1,
    producers=1,
    consumers=1,
    pace=0.2,
    gap=15.0,
    is_narrow=True,
)

FULL_DISK_TEETH = (Tooth("a-full-disk-leads-on", a_full_disk_leads_on, ("goes-on",), FULL),)
