"""Carries changes of in-sync sets from this broker's leaders to the store: many at a time, each compared and set.

proposal ─▶ commit ─▶ the watch brings the new state, which ends the proposal
              └─ conflict on the partition: its newer state is on the way and ends it
              └─ conflict on a joiner's registration: it is another life of that broker; the proposal is dropped
              └─ no answer: unknown, so asked again; comparing makes that harmless

A proposal that should not become true any more, since its joiner died, is dropped if the store has never seen it. If it
has, its outcome is in doubt, and acks wait for the joiner until that ends. So the state of now is committed once more:
whichever of the two comes first, the partition has a newer state, and that ends the proposal.

A follower that finds its disk full takes itself out the same way: its leader would wait for it as for one that is slow.
"""

import asyncio
import logging
from itertools import islice

from headrace.base.errors import Refused, StoreUnreachable
from headrace.broker.membership.view import View
from headrace.cluster.isr import affirm_isr, alter_isr
from headrace.cluster.records import partition_key
from headrace.cluster.store import Commit, Conflict
from headrace.partition.partition import Partition
from headrace.replica.proposal import Proposal
from headrace.wire.codes import ErrorCode

logger = logging.getLogger("headrace.isr")

# Each proposal compares its partition and perhaps a registration; a commit may compare 100 keys.
PER_COMMIT = 40
RETRY_SECONDS = 0.1


class IsrKeeper:
    def __init__(self, view: View) -> None:
        self._view = view
        self._queue: dict[Partition, Proposal] = {}
        self._leaving: dict[Partition, None] = {}
        self._woken = asyncio.Event()

    def propose(self, partition: Partition, proposal: Proposal) -> None:
        self._queue[partition] = proposal
        self._woken.set()

    def leave(self, partition: Partition) -> None:
        """Takes this follower, which cannot write, out of the in-sync set: until it is out, nothing can be acknowledged."""
        self._leaving[partition] = None
        self._woken.set()

    async def run(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            while self._leaving:
                await self._leave(self._leaving.popitem()[0])
            while self._queue:
                batch = {partition: self._queue.pop(partition) for partition in list(islice(self._queue, PER_COMMIT))}
                await self._commit(batch)

    async def _commit(self, batch: dict[Partition, Proposal]) -> None:
        commits = {partition: self._plan(partition, proposal) for partition, proposal in batch.items()}
        planned = {partition: commit for partition, commit in commits.items() if commit is not None}
        if not planned:
            return
        puts = {key: value for commit in planned.values() for key, value in commit.puts.items()}
        expect = {key: revision for commit in planned.values() for key, revision in commit.expect.items()}
        for partition in planned:
            partition.in_sync.on_proposal_sent()
        try:
            await self._view.metadata.store.commit(puts, expect)
        except StoreUnreachable:
            self._queue = {**{partition: batch[partition] for partition in planned}, **self._queue}
            await asyncio.sleep(RETRY_SECONDS)
        except Conflict as conflict:
            if len(planned) > 1:
                for partition in planned:
                    await self._commit({partition: batch[partition]})
            else:
                self._on_conflict(next(iter(planned)), conflict)

    def _plan(self, partition: Partition, proposal: Proposal) -> Commit | None:
        """None when it is out of date: the partition is led in another epoch, or its state changed meanwhile."""
        image = self._view.image
        state = image.partition(partition.id.topic, partition.id.partition)
        if state is not partition.state or not partition.in_sync.is_proposed(proposal):
            return None
        index = partition.id.partition
        try:
            self._check_alive(proposal)
            return alter_isr(image, partition.topic_id, index, state, proposal.isr, proposal.added, self._view.config)
        except Refused as refusal:
            logger.debug(
                "%(topic)s-%(partition)d: %(cause)s",
                {**partition.id._asdict(), "epoch": partition.leader_epoch, "cause": refusal.message},
            )
            return None if partition.in_sync.withdraw_proposal() else affirm_isr(partition.topic_id, index, state)

    def _check_alive(self, proposal: Proposal) -> None:
        """A dead broker's last fetch may have been good enough; the controller would only take it out again."""
        for broker_id, epoch in proposal.added.items():
            if self._view.live.get(broker_id) != epoch:
                raise Refused(ErrorCode.INELIGIBLE_REPLICA, f"broker {broker_id} is not alive in epoch {epoch}")

    async def _leave(self, partition: Partition) -> None:
        """Commits the in-sync set without us, unless its state has changed; a failure is left to the next write that
        fails.
        """
        image, me, index = self._view.image, self._view.id, partition.id.partition
        state = image.partition(partition.id.topic, index)
        if state is not partition.state or partition.is_leader or me not in state.isr:
            return
        others = [each for each in state.isr if each != me]
        try:
            commit = alter_isr(image, partition.topic_id, index, state, others, {}, self._view.config)
            await self._view.metadata.store.commit(commit.puts, commit.expect)
            logger.warning(
                "%(topic)s-%(partition)d leaves the in-sync replicas %(isr)s: it cannot follow",
                {**partition.id._asdict(), "epoch": partition.leader_epoch, "isr": list(state.isr)},
            )
        except (Refused, Conflict, StoreUnreachable) as cause:
            logger.debug(
                "%(topic)s-%(partition)d does not leave its in-sync replicas: %(cause)s",
                {**partition.id._asdict(), "epoch": partition.leader_epoch, "cause": cause},
            )

    def _on_conflict(self, partition: Partition, conflict: Conflict) -> None:
        own = partition_key(partition.topic_id, partition.id.partition)
        if own not in conflict.keys:
            partition.in_sync.on_proposal_refused()
