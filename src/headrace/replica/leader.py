"""A leader's view of one partition's replicas: how far each is, who is in sync, and how far all of them are.

    follower fetches at offset x  ─▶  everything below x is on its disk (or, on a relaxed topic, in its log)
    high watermark                =   the least end over the in-sync set, once that set has min.insync.replicas members

While a change of the in-sync set is on its way to the store (`proposal`), the larger of the two sets holds the watermark
back and the one that is committed counts for the minimum: whichever of them becomes true, nothing was promised too early.

Invariant: the watermark never falls, and every offset below it is held by all of the set that may elect the next leader.
Does not fetch, wait or commit: the shell asks, proposes and reports back.
"""

from collections.abc import Collection, Iterable, Mapping

from headrace.replica.proposal import Proposal, Underway
from headrace.replica.stalls import Stalls


class Follower:
    """The progress of one replica, as its fetches show it."""

    __slots__ = ("broker_epoch", "caught_up_at", "end_offset", "leader_end_then")

    def __init__(self, now: float) -> None:
        self.broker_epoch = -1
        self.end_offset = -1
        # The leader's log end at the fetch before: a follower that has reached it keeps up, though it is never quite there.
        self.leader_end_then = 0
        self.caught_up_at = now


class LeaderReplica:
    __slots__ = (
        "_broker_id",
        "_followers",
        "_left_end_at",
        "_min_isr",
        "_nobody_behind",
        "_stalls",
        "epoch_start_offset",
        "high_watermark",
        "isr",
        "underway",
    )

    def __init__(
        self,
        broker_id: int,
        replicas: Iterable[int],
        isr: tuple[int, ...],
        min_isr: int,
        end_offset: int,
        high_watermark: int,
        now: float,
    ) -> None:
        assert high_watermark <= end_offset, (high_watermark, end_offset)
        self.isr = isr
        self.epoch_start_offset = end_offset
        self.high_watermark = high_watermark
        self._broker_id = broker_id
        self._min_isr = min_isr
        self._followers = {replica: Follower(now) for replica in replicas if replica != broker_id}
        self.underway = Underway()
        self._stalls = Stalls(now)
        self._nobody_behind = False
        self._left_end_at = now

    # -- events ------------------------------------------------------------------------------------------------------

    def on_append(self, now: float) -> None:
        if self._nobody_behind:
            self._nobody_behind = False
            self._left_end_at = now

    def on_fetch(self, follower_id: int, broker_epoch: int, offset: int, end_offset: int, now: float) -> bool:
        """Takes a follower's proof of all below `offset`; False if it is no replica, or an older registration of one."""
        follower = self._followers.get(follower_id)
        if follower is None or broker_epoch < follower.broker_epoch:
            return False
        if broker_epoch > follower.broker_epoch:
            follower.broker_epoch = broker_epoch
            follower.leader_end_then = end_offset
        follower.end_offset = offset
        if offset >= follower.leader_end_then:
            follower.caught_up_at = now
        follower.leader_end_then = end_offset
        if offset >= end_offset:
            self._nobody_behind = all(each.end_offset >= end_offset for each in self._followers.values())
        return True

    def on_replicas(self, replicas: Collection[int], isr: tuple[int, ...], min_isr: int, now: float) -> None:
        """Takes in a newly committed state of the same leader in the same epoch."""
        self.isr = isr
        self._min_isr = min_isr
        self.underway.end()
        known = self._followers
        self._followers = {
            replica: known.get(replica) or Follower(now) for replica in replicas if replica != self._broker_id
        }

    def on_min_isr(self, min_isr: int) -> None:
        """Takes in a new `min.insync.replicas`: a proposal that is on its way does not depend on it."""
        self._min_isr = min_isr

    # -- decisions ---------------------------------------------------------------------------------------------------

    @property
    def has_min_isr(self) -> bool:
        return len(self.isr) >= self._min_isr

    def advance(self, own_end: int) -> int:
        """Raises the high watermark as far as it may go, given the end of our own log that counts, and returns it."""
        if not self.has_min_isr:
            return self.high_watermark
        least = own_end
        proposed = self.underway.proposal
        for replica in self.isr if proposed is None else {*self.isr, *proposed.isr}:
            if replica != self._broker_id:
                follower = self._followers.get(replica)
                least = min(least, -1 if follower is None else follower.end_offset)
        if least > self.high_watermark:
            assert least <= own_end, (least, own_end)
            self.high_watermark = least
        return self.high_watermark

    def propose_joiner(self, follower_id: int, now: float) -> Proposal | None:
        """Proposes this replica for the ISR if it has all it needs: everything below the watermark and of earlier
        epochs."""
        follower = self._followers.get(follower_id)
        if self.underway.proposal is not None or follower is None or follower_id in self.isr:
            return None
        if follower.end_offset < max(self.high_watermark, self.epoch_start_offset):
            return None
        if self._is_enough(self.isr) and self._stalls.is_kept_out(follower_id, now):
            return None
        return self.underway.begin(
            Proposal((*self.isr, follower_id), {follower_id: follower.broker_epoch}), self._broker_id
        )

    def propose_waiting(self, live: Mapping[int, int], now: float) -> Proposal | None:
        """Proposes a replica that has all it needs and is still outside the ISR.

        Its proposal came to nothing, as when the store did not know its new registration yet, and on a quiet partition
        it has no reason to name its offset again. Only replicas alive, with the epoch they fetched with, are proposed:
        a dead one could be proposed for ever, in front of the rest.
        """
        if len(self.isr) > len(self._followers):
            return None
        alive = (id for id, follower in self._followers.items() if live.get(id) == follower.broker_epoch)
        return next((each for id in alive if (each := self.propose_joiner(id, now)) is not None), None)

    def propose_without_laggards(self, end_offset: int, lag_seconds_max: float, now: float) -> Proposal | None:
        if self.underway.proposal is not None:
            return None
        kept = tuple(each for each in self.isr if not self._is_behind(each, end_offset, lag_seconds_max, now))
        if len(kept) == len(self.isr):
            return None
        return self.underway.begin(Proposal(kept, {}), self._broker_id)

    def propose_without_stalled(self, end_offset: int, seconds_max: float, now: float) -> Proposal | None:
        """Proposes the ISR without members that stand still while others wait for them.

        Only if all of them can go, and a majority of the replicas and min.insync.replicas stay: otherwise nothing could
        be committed all the same, or on too few disks. Those have `propose_without_laggards`, and its longer time.
        """
        ends = ((each, self.end_of(each)) for each in self.isr if each != self._broker_id)
        behind = {follower: end for follower, end in ends if end < end_offset}
        stalled = self._stalls.look(behind, seconds_max, now)
        kept = tuple(each for each in self.isr if each not in stalled)
        if self.underway.proposal is not None or not stalled or not self._is_enough(kept):
            return None
        self._stalls.keep_out(stalled, now)
        return self.underway.begin(Proposal(kept, {}), self._broker_id)

    def _is_enough(self, isr: tuple[int, ...]) -> bool:
        replicas = len(self._followers) + 1
        return len(isr) >= max(self._min_isr, replicas // 2 + 1)

    def _is_behind(self, replica: int, end_offset: int, lag_seconds_max: float, now: float) -> bool:
        if replica == self._broker_id:
            return False
        follower = self._followers.get(replica)
        if follower is None:
            return True
        if follower.end_offset >= end_offset:
            return False
        # A quiet partition's followers are asked for nothing; their time runs from the first append after the quiet.
        return now - max(follower.caught_up_at, self._left_end_at) > lag_seconds_max

    def is_complete(self, end_offset: int) -> bool:
        """Whether every replica is in sync and has everything."""
        followers = self._followers
        return len(self.isr) > len(followers) and all(each.end_offset >= end_offset for each in followers.values())

    # -- lags --------------------------------------------------------------------------------------------------------

    def end_of(self, replica: int) -> int:
        follower = self._followers.get(replica)
        return -1 if follower is None else follower.end_offset

    def furthest(self, end_offset: int, now: float) -> tuple[int, float]:
        """The largest lag of a follower: in records, and in seconds since it was last at the end."""
        behind = [each for each in self._followers.values() if each.end_offset < end_offset]
        if not behind:
            return 0, 0.0
        since = max(min(each.caught_up_at for each in behind), self._left_end_at)
        return end_offset - max(0, min(each.end_offset for each in behind)), now - since
