"""Clocks that are far apart, seen from the stamps of registrations. Only a warning: nothing here depends on wall clocks.

A registration that comes by while we are a member ourselves was made a moment ago, so its stamp should be near our own
time. Those that were there before us, or came while we were cut off, may be of any age and say nothing.
"""

from collections.abc import Mapping
from typing import NamedTuple

from headrace.cluster.entities import FENCED, Broker

APART_MS_MAX = 10_000


class Skew(NamedTuple):
    broker_id: int
    ahead_ms: int
    """How far its clock is ahead of ours; negative when it is behind."""


class ClockWatch:
    def __init__(self, own_id: int) -> None:
        self._own_id = own_id
        self._epochs: dict[int, int] = {}

    def look(self, brokers: Mapping[int, Broker], wall: int, is_member: bool) -> list[Skew]:
        skews = []
        for broker in brokers.values():
            is_new = self._epochs.get(broker.id) != broker.epoch and broker.id != self._own_id
            if broker.epoch == FENCED:
                # Between two lives: the stamp is still that of the one before.
                continue
            self._epochs[broker.id] = broker.epoch
            if is_new and is_member and broker.registered_at and abs(broker.registered_at - wall) > APART_MS_MAX:
                skews.append(Skew(broker.id, broker.registered_at - wall))
        return skews
