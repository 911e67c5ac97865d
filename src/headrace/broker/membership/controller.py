"""The controller: whichever broker holds its lease. Looks at image and at who is alive, and commits what must change.

    lease ─▶ claim (a key whose revision every commit expects) ─▶ heal until nothing is left to do ─▶ wait ─▶ heal …

Level-triggered: it remembers nothing between rounds but where all was well, which only saves it looking again. So dying
half-way through a change is harmless: somebody else takes the lease, looks at what is there, and goes on.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping
from typing import NamedTuple

from headrace.base.errors import StoreUnreachable
from headrace.base.probe import Probes
from headrace.broker.membership.view import View
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.decide import heal_steps
from headrace.cluster.entities import PartitionState, Topic
from headrace.cluster.image import Image, changed_topics
from headrace.cluster.leadership import balance_leaders
from headrace.cluster.records import CONTROLLER
from headrace.cluster.registration import claim_control
from headrace.cluster.store import Commit, Conflict, Lease, LeaseHeld, LeaseLost

logger = logging.getLogger("headrace.controller")

LEASE_NAME = "controller"
ROUNDS_MAX = 100
LEADERS_PER_ROUND = 50
ABANDONED_SECONDS = 60.0


class Circumstances(NamedTuple):
    """All that a decision rests on beside the image."""

    live: Mapping[int, int]
    reluctant: Collection[int]
    config: BrokerConfig


class Healthy(NamedTuple):
    """The result of a look that found nothing left to do."""

    image: Image
    circumstances: Circumstances


class Controller:
    def __init__(self, view: View, probes: Probes) -> None:
        self._view = view
        self._probes = probes
        self._ttl_ms = view.config.number("broker.session.timeout.ms")
        self._woken = asyncio.Event()
        self._lease: Lease | None = None
        self._renew_at = 0.0
        self._healthy: Healthy | None = None
        self._is_store_lost = False
        self._balance_at = 0.0
        self._orphans: dict[bytes, tuple[Mapping[int, PartitionState], float]] = {}

    def wake(self) -> None:
        """Wakes the controller: the image has changed, or who is alive."""
        self._woken.set()

    async def run(self) -> None:
        while True:
            try:
                await self._campaign()
                await self._control()
            except (LeaseHeld, LeaseLost, Conflict):
                # Somebody else controls. Their lease is looked at again before it could have run out.
                await self._pause(self._ttl_ms / 4000)
            except StoreUnreachable as error:
                if not self._is_store_lost:
                    logger.warning("cannot control: the metadata store does not answer: %(cause)s", {"cause": error})
                self._is_store_lost = True
                await self._pause(self._ttl_ms / 4000)

    async def leave(self) -> None:
        if self._lease is not None:
            await self._view.metadata.store.release(self._lease)
            self._lease = None

    async def _pause(self, seconds: float) -> None:
        self._lease = None
        await self._until_woken(seconds)

    async def _until_woken(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            pass
        self._woken.clear()

    async def _campaign(self) -> None:
        view = self._view
        store = view.metadata.store
        lease = await store.acquire(LEASE_NAME, f"{view.id}", view.epoch, self._ttl_ms)
        claim = claim_control(view.image, view.id, view.epoch)
        revision = await store.commit(claim.puts, claim.expect)
        await view.metadata.until_visible(revision)
        self._lease = lease
        self._renew_at = 0.0
        self._healthy = None
        self._balance_at = asyncio.get_running_loop().time() + self._balance_seconds
        self._is_store_lost = False
        logger.info("broker %(broker)d controls the cluster", {"broker": view.id, "broker_epoch": view.epoch})

    async def _control(self) -> None:
        while self._lease is not None:
            await self._keep_lease()
            await self._heal()
            await self._balance()
            await self._until_woken(max(0.0, self._renew_at - asyncio.get_running_loop().time()))

    async def _keep_lease(self) -> None:
        """Four times in its life. In between it says nothing that our commits, which expect our claim, would not find."""
        now = asyncio.get_running_loop().time()
        if self._lease is not None and now >= self._renew_at:
            await self._view.metadata.store.renew(self._lease)
            self._renew_at = now + self._ttl_ms / 4000

    async def _heal(self) -> None:
        """Step by step, elections first: with a hundred thousand partitions the last step waits, the first does not."""
        for _ in range(ROUNDS_MAX):
            image, circumstances = self._view.image, self._circumstances()
            if not await self._heal_once(image, circumstances):
                self._healthy = Healthy(image, circumstances)
                return

    async def _heal_once(self, image: Image, circumstances: "Circumstances") -> bool:
        """Whether there was anything to do."""
        topics = self._worth_a_look(image, circumstances)
        live, reluctant, config = circumstances
        revision = 0
        for step in heal_steps(image, live, reluctant, config, self._fence(), self._abandoned(image), topics):
            if step is None:
                await asyncio.sleep(0)
                continue
            self._probes.unclean_elections += step.unclean
            revision = max(revision, await self._commit(step.commit, image))
            await self._keep_lease()
        await self._view.metadata.until_visible(revision)
        return revision > 0

    def _circumstances(self) -> "Circumstances":
        return Circumstances(self._view.live, self._view.reluctant, self._view.config)

    def _worth_a_look(self, image: Image, circumstances: "Circumstances") -> list[Topic] | None:
        """Where nothing was left to do, and the brokers are the same, only topics that changed may need something."""
        healthy = self._healthy
        if healthy is None or healthy.circumstances != circumstances:
            return None
        return [after for _, after in changed_topics(healthy.image, image) if after is not None]

    def _abandoned(self, image: Image) -> list[bytes]:
        """Topics whose partitions nobody counts, unchanged for so long that nobody is creating or deleting them."""
        now = asyncio.get_running_loop().time()
        self._orphans = {
            topic_id: self._orphans[topic_id] if self._orphans.get(topic_id, (None,))[0] is left else (left, now)
            for topic_id, left in image.orphans.items()
        }
        return [topic_id for topic_id, (_, since) in self._orphans.items() if now - since > ABANDONED_SECONDS]

    async def _balance(self) -> None:
        """Leadership back to the preferred replicas, now and then."""
        now = asyncio.get_running_loop().time()
        if now < self._balance_at or not self._view.config.flag("auto.leader.rebalance.enable"):
            return
        self._balance_at = now + self._balance_seconds
        image = self._view.image
        for commit in balance_leaders(image, self._view.live, LEADERS_PER_ROUND, self._view.reluctant, self._fence()):
            await self._view.metadata.until_visible(await self._commit(commit, image))

    @property
    def _balance_seconds(self) -> float:
        return float(self._view.config.number("leader.imbalance.check.interval.seconds"))

    def _fence(self) -> dict[str, int]:
        claim = self._view.image.controller
        if claim is None or claim.broker_id != self._view.id or claim.epoch != self._view.epoch:
            raise Conflict([CONTROLLER])
        return {CONTROLLER: claim.revision}

    async def _commit(self, commit: Commit, planned_on: Image) -> int:
        """The revision to wait for before deciding again. A conflict is somebody else's change to the same key: the next
        round sees it. One of the claim deposes us."""
        try:
            return await self._view.metadata.store.commit(commit.puts, commit.expect)
        except Conflict as conflict:
            if CONTROLLER in conflict.keys:
                raise
            return planned_on.revision + 1
