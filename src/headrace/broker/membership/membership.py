"""Being one of the cluster: a lease that says we are alive, a registration that says who we are, and who else is alive.

    join     take the lease under a new epoch → commit the registration, out of every in-sync set we may not stay in
    renew    four times in a lease; the deadline counts from before the renewal was sent
    deadline passed, or lease lost → fenced: nothing is answered as a leader any more → join again
    disk hangs    fenced, and the lease given back, if others can go on without us → the disk answers → join again,
                  later each time if it hangs again and again, so that leaders do not move to and fro

The lease only limits how long a cut-off broker answers with old news. That acknowledged records survive rests on
in-sync sets and epochs alone.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Set
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from headrace.base.errors import StoreUnreachable, UserError
from headrace.cluster.entities import Broker as Registration
from headrace.cluster.image import Image
from headrace.cluster.registration import EpochUsed, next_epoch, skip_producer_ids
from headrace.cluster.rejoin import rejoin
from headrace.cluster.spare import can_spare
from headrace.cluster.store import Conflict, Lease, LeaseHeld, LeaseLost, commit_all

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

logger = logging.getLogger("headrace.membership")

LEASE_PREFIX = "broker/"
JOIN_TRIES = 50
JOIN_PAUSE_SECONDS = 0.1
# A broker whose disk hung again comes back after so long, twice as long each time, and at once if others are missing.
AWAY_SECONDS = 1.0
AWAY_SECONDS_MAX = 16.0
STRETCH_MAX = 1 << 20
# How much earlier than the store we take our own lease as over: clocks tick apart a little.
MARGIN_SHARE = 0.1


class Membership:
    def __init__(self, broker: "Broker", me: Registration, lost_page_cache: bool) -> None:
        self._broker = broker
        self._me = me
        self._lost_page_cache = lost_page_cache
        self._ttl_ms = broker.view.config.number("broker.session.timeout.ms")
        # A quarter of its time at the latest, whatever was asked for.
        self._pause_seconds = min(broker.view.config.number("broker.heartbeat.interval.ms"), self._ttl_ms / 4) / 1000
        self._lease: Lease | None = None
        self.deadline = 0.0
        # When the store was last asked for the lease.
        self.tried_at = broker.clock.now().mono
        self._spared: tuple[Image, Mapping[int, int], bool] | None = None

    # -- joining -----------------------------------------------------------------------------------------------------

    async def join(self) -> None:
        """Returns as a registered, unfenced broker."""
        for _ in range(JOIN_TRIES):
            try:
                await self._take_lease()
                async with self._renewing():
                    await self._register()
                    await self.look_who_is_alive()
            except (Conflict, EpochUsed, LeaseLost):
                await asyncio.sleep(JOIN_PAUSE_SECONDS)
                continue
            except LeaseHeld as held:
                if held.lease.holder == self._me.directory_id:
                    # A lease of an earlier life of ours, which ended before it could register: it runs out by itself.
                    await asyncio.sleep(JOIN_PAUSE_SECONDS)
                    continue
                raise UserError(
                    f"broker {self._me.id} is already running, from another data directory ({held.lease.holder})",
                    "Give this broker another id (--id), or stop the other one.",
                ) from held
            self._broker.on_joined()
            return
        raise UserError(f"broker {self._me.id} could not register: the metadata kept changing", "Try again.")

    async def _take_lease(self) -> None:
        broker = self._broker
        if self._lease is not None:
            # The store may know of newer epochs than our image does, when we were cut off from it.
            await broker.metadata.load()
        before = self.tried_at = broker.clock.now().mono
        self._lease = await broker.metadata.store.acquire(
            f"{LEASE_PREFIX}{self._me.id}", self._me.directory_id, next_epoch(broker.image), self._ttl_ms
        )
        broker.view.epoch = self._lease.epoch
        self._set_deadline(before)

    async def _register(self) -> None:
        """One commit or several; a broker that has something to give up is fenced by the first and decides again."""
        broker = self._broker
        me = self._me._replace(
            epoch=broker.view.epoch, registered_at=broker.clock.now().wall, is_full=broker.disk_room.is_full
        )
        registered = None
        await self._skip_used_producer_ids()
        while registered is None:
            image, doubts = broker.image, broker.hosting.doubts.all
            commits, registered, unclean = rejoin(
                image, me, doubts, self._lost_page_cache, broker.view.config, broker.view.live, _epochs_known(broker)
            )
            revision = await commit_all(broker.metadata.store, commits)
            broker.probes.unclean_elections += unclean
            await broker.metadata.until_visible(revision)
        # Only these: what was opened meanwhile is not among them.
        broker.hosting.doubts.on_told(doubts)
        broker.seen_revision.on_registered()
        self._lost_page_cache = False

    async def _skip_used_producer_ids(self) -> None:
        metadata = self._broker.metadata
        if self._broker.seen_revision.store_went_back:
            skip = skip_producer_ids(metadata.image, _stretch(self._broker))
            await metadata.until_visible(await commit_all(metadata.store, [skip]))

    async def look_who_is_alive(self) -> None:
        """Before we serve: who knows of nobody else tells clients so, and as the controller would elect in their place."""
        self._broker.on_leases(live_epochs(await self._broker.metadata.store.leases()))

    @asynccontextmanager
    async def _renewing(self) -> AsyncIterator[None]:
        """A broker that led tens of thousands takes seconds to register, and its lease must not run out meanwhile."""

        async def renew() -> None:
            while True:
                await asyncio.sleep(self._pause_seconds)
                # What is wrong with the lease is found by the next renewal too, when there is somebody to act on it.
                with suppress(LeaseLost, StoreUnreachable):
                    await self._renew()

        renewals = asyncio.create_task(renew())
        try:
            yield
        finally:
            renewals.cancel()

    # -- staying -----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        while True:
            is_disk_hung = await self._broker.disk_watch.until_hung(self._pause_seconds)
            try:
                if is_disk_hung and self._can_be_spared():
                    await self._step_aside()
                    continue
                if is_disk_hung:
                    # Too few others could go on, and clients wait for the disk with us.
                    await asyncio.sleep(self._pause_seconds)
                await self._renew()
                self._broker.on_renewed()
            except LeaseLost:
                fields = {"broker": self._me.id, "broker_epoch": self._broker.view.epoch}
                logger.warning("broker %(broker)d lost its lease; joining again", fields)
                self._broker.fence("its lease ran out")
                await self._join_again()
            except StoreUnreachable as error:
                logger.warning("the metadata store does not answer: %(cause)s", {"cause": error})
                self._broker.check_lease()

    async def _step_aside(self) -> None:
        """Lets others lead until our disk answers."""
        broker = self._broker
        others = broker.view.live.keys() - {broker.id}
        broker.fence("its disk does not answer")
        self.deadline = 0.0
        # If the store does not take it back now, it runs out.
        with suppress(StoreUnreachable, TimeoutError):
            async with asyncio.timeout(self._ttl_ms / 1000):
                await self.leave()
        await broker.disk_watch.until_answering()
        logger.warning("broker %(broker)d has a disk that answers again; joining again", {"broker": self._me.id})
        await self._stay_away(others)
        await self._join_again()

    async def _stay_away(self, others: Set[int]) -> None:
        """After a first hang not at all; never when one of the others is missing."""
        # Not asked for on purpose, which is no reason for a restart.
        self.tried_at = self._broker.clock.now().mono
        watch = self._broker.disk_watch
        for _ in range(round(seconds_away(watch.recent_hangs) / watch.tick_seconds)):
            if not others <= self._broker.view.live.keys():
                return
            await asyncio.sleep(watch.tick_seconds)

    def _can_be_spared(self) -> bool:
        """Worked out again when the image or the live brokers changed: a disk may hang for long, beside many partitions."""
        image, live = self._broker.image, self._broker.view.live
        if self._spared is None or self._spared[0] is not image or self._spared[1] is not live:
            self._spared = image, live, can_spare(image, self._me.id, live, self._broker.view.config)
        return self._spared[2]

    async def _renew(self) -> None:
        assert self._lease is not None
        before = self.tried_at = self._broker.clock.now().mono
        await self._broker.metadata.store.renew(self._lease)
        self._set_deadline(before)

    async def _join_again(self) -> None:
        while True:
            try:
                await self.join()
                return
            except StoreUnreachable:
                await asyncio.sleep(JOIN_PAUSE_SECONDS)

    def _set_deadline(self, sent_at: float) -> None:
        """Counted from the renewal, or from the news that we have not taken in yet: what we believe is older by then."""
        known_at = min(sent_at, self._broker.metadata.as_of())
        self.deadline = known_at + self._ttl_ms / 1000 * (1 - MARGIN_SHARE)

    async def leave(self) -> None:
        """Give the lease up at once, so that nobody waits for it to run out."""
        if self._lease is not None:
            await self._broker.metadata.store.release(self._lease)

    async def run_watch(self) -> None:
        """Follows the leases, which say who is alive."""
        while True:
            try:
                async for leases in self._broker.metadata.store.watch_leases():
                    self._broker.on_leases(live_epochs(leases))
            except StoreUnreachable:
                await asyncio.sleep(JOIN_PAUSE_SECONDS)


def seconds_away(recent_hangs: int) -> float:
    """How long a broker stays away after a hang of its disk."""
    return min(AWAY_SECONDS_MAX, AWAY_SECONDS * 2.0 ** (recent_hangs - 2)) if recent_hangs > 1 else 0.0


def _epochs_known(broker: "Broker") -> dict[tuple[bytes, int], int]:
    """The latest leader epoch in each log: above that of the store after it was restored from an older copy. Other epochs
    may have come since with no record of them here, so if this broker had seen more, the next ones are taken as used."""
    used_since = _stretch(broker) if broker.seen_revision.store_went_back else 0
    return {
        (each.topic_id, each.id.partition): max(each.log.state.epochs.latest, each.leader_epoch + used_since)
        for each in broker.partitions
    }


def _stretch(broker: "Broker") -> int:
    """How many numbers are taken as used since the copy that the store was restored from. By chance: whoever restores the
    same copy again would use those of after the first time again, which no store knows any more."""
    return broker.rng.randint(1, STRETCH_MAX)


def live_epochs(leases: Mapping[str, Lease]) -> dict[int, int]:
    """Broker id → the epoch it holds its lease under."""
    return {
        int(name.removeprefix(LEASE_PREFIX)): lease.epoch
        for name, lease in leases.items()
        if name.startswith(LEASE_PREFIX)
    }
