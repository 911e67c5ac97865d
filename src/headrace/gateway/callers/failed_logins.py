"""Logins that failed, by address: so many at once, and then one now and then. Pure; callers give the time.

A login counts before it is tried, so that a thousand guesses at once are no more than the allowed ones; one that succeeds
is taken off again. Addresses of IPv6 count by their network of 64 bits, which is what one host may choose from.
"""

import ipaddress
from collections import OrderedDict
from typing import NamedTuple

FAILED_TRIES_MAX = 10
SECONDS_PER_TRY = 6.0
ADDRESSES_MAX = 10_000


class _Level(NamedTuple):
    tries: float
    at: float


class FailedLogins:
    def __init__(self) -> None:
        self._levels: OrderedDict[str, _Level] = OrderedDict()

    def count(self, address: str, now: float) -> float:
        """Counts a try. Not 0: the seconds after which another one is taken, and this one is not."""
        host = _counted_as(address)
        tries = self._tries(host, now)
        if tries + 1 > FAILED_TRIES_MAX:
            return (tries + 1 - FAILED_TRIES_MAX) * SECONDS_PER_TRY
        self._note(host, tries + 1, now)
        return 0.0

    def forgive(self, address: str, now: float) -> None:
        """Takes a try off that was no failure."""
        host = _counted_as(address)
        self._note(host, max(0.0, self._tries(host, now) - 1), now)

    def _tries(self, host: str, now: float) -> float:
        tries, at = self._levels.get(host, _Level(0.0, now))
        return max(0.0, tries - (now - at) / SECONDS_PER_TRY)

    def _note(self, host: str, tries: float, now: float) -> None:
        self._levels.pop(host, None)
        if tries:
            self._levels[host] = _Level(tries, now)
        if len(self._levels) > ADDRESSES_MAX:
            self._levels.popitem(last=False)


def _counted_as(address: str) -> str:
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    return str(found.ipv4_mapped or ipaddress.ip_network((int(found) >> 64 << 64, 64)))
