"""A leader's view of one partition's replicas: how far each is, who is in sync, and how far all of them are.

    follower fetches at offset x  ─▶  everything below x is on its disk (or, on a relaxed topic, in its log)
    high watermark                =   the least end over the in-sync set, once that set has min.insync.replicas members

While a change of the in-sync set is on its way to the store, the larger of the two sets holds the watermark back and the
one that is committed counts for the minimum: whichever of them becomes true, nothing was promised too early.

Invariant: the watermark never falls, and every offset below it is held by all of the set that may elect the next leader.
Does not fetch, wait or commit: the shell asks, proposes and reports back.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple


class Follower:
    """One replica as its fetches show it."""

    __slots__ = ("broker_epoch", "caught_up_at", "end_offset", "leader_end_then")

    def __init__(self, now: float) -> None:
        self.broker_epoch = -1
        self.end_offset = -1
        # An offset at or past where the leader's log ended at the fetch before: it keeps up, though never quite there.
        self.leader_end_then = 0
        self.caught_up_at = now


class Proposal(NamedTuple):
    isr: tuple[int, ...]
    # Who joins, with the registration whose fetches proved it.
    added: dict[int, int]


class LeaderReplica:
    __slots__ = (
        "_broker_id",
        "_followers",
        "_left_end_at",
        "_min_isr",
        "_nobody_behind",
        "_proposed",
        "epoch_start_offset",
        "high_watermark",
        "isr",
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
        self.isr = isr
        self.epoch_start_offset = end_offset
        self.high_watermark = high_watermark
        self._broker_id = broker_id
        self._min_isr = min_isr
        self._followers = {replica: Follower(now) for replica in replicas if replica != broker_id}
        self._proposed: tuple[int, ...] | None = None
        self._nobody_behind = False
        self._left_end_at = now

    # -- what happened -----------------------------------------------------------------------------------------------

    def on_append(self, now: float) -> None:
        if self._nobody_behind:
            self._nobody_behind = False
            self._left_end_at = now

    def on_fetch(self, follower_id: int, broker_epoch: int, offset: int, end_offset: int, now: float) -> bool:
        """A follower proves all below `offset`; False for one that is no replica or an older life of one."""
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
        """The committed state is another one: of the same leader in the same epoch."""
        self.isr = isr
        self._min_isr = min_isr
        self._proposed = None
        known = self._followers
        self._followers = {
            replica: known.get(replica) or Follower(now) for replica in replicas if replica != self._broker_id
        }

    # -- what follows ------------------------------------------------------------------------------------------------

    @property
    def has_min_isr(self) -> bool:
        return len(self.isr) >= self._min_isr

    def advance(self, own_end: int) -> int:
        """The high watermark, given how far our own log counts."""
        if not self.has_min_isr:
            return self.high_watermark
        least = own_end
        for replica in self.isr if self._proposed is None else {*self.isr, *self._proposed}:
            if replica != self._broker_id:
                follower = self._followers.get(replica)
                least = min(least, -1 if follower is None else follower.end_offset)
        if least > self.high_watermark:
            self.high_watermark = least
        return self.high_watermark

    def propose_joiner(self, follower_id: int) -> Proposal | None:
        """A replica outside the set that has all it needs: everything below the watermark and of earlier epochs."""
        follower = self._followers.get(follower_id)
        if self._proposed is not None or follower is None or follower_id in self.isr:
            return None
        if follower.end_offset < max(self.high_watermark, self.epoch_start_offset):
            return None
        self._proposed = (*self.isr, follower_id)
        return Proposal(self._proposed, {follower_id: follower.broker_epoch})

    def propose_waiting(self, live: Mapping[int, int]) -> Proposal | None:
        """A replica that has all it needs and is still outside: its proposal came to nothing, as when the store did not
        know its new registration yet. On a quiet partition it has no reason to name its offset again.

        Only those alive, with the epoch they fetched with: a dead one could be proposed for ever, in front of the rest.
        """
        if len(self.isr) > len(self._followers):
            return None
        alive = (id for id, follower in self._followers.items() if live.get(id) == follower.broker_epoch)
        return next(filter(None, map(self.propose_joiner, alive)), None)

    def propose_without_laggards(self, end_offset: int, lag_seconds_max: float, now: float) -> Proposal | None:
        if self._proposed is not None:
            return None
        kept = tuple(each for each in self.isr if not self._is_behind(each, end_offset, lag_seconds_max, now))
        if len(kept) == len(self.isr):
            return None
        self._proposed = kept
        return Proposal(kept, {})

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
        """Every replica is in sync, and has everything."""
        followers = self._followers
        return len(self.isr) > len(followers) and all(each.end_offset >= end_offset for each in followers.values())

    def is_proposed(self, proposal: Proposal) -> bool:
        """Still on its way: no state that was committed since has ended it."""
        return self._proposed == proposal.isr

    def on_proposal_failed(self) -> None:
        """It was not committed and never will be. One whose outcome is unknown stays proposed until the state shows it."""
        self._proposed = None

    def end_of(self, replica: int) -> int:
        follower = self._followers.get(replica)
        return -1 if follower is None else follower.end_offset

    def furthest(self, end_offset: int, now: float) -> tuple[int, float]:
        """How far behind followers are at most: in records, and in seconds since they were last at the end."""
        behind = [each for each in self._followers.values() if each.end_offset < end_offset]
        if not behind:
            return 0, 0.0
        since = max(min(each.caught_up_at for each in behind), self._left_end_at)
        return end_offset - max(0, min(each.end_offset for each in behind)), now - since
