"""The in-sync set as its leader sees it: what followers' fetches prove, and the changes that are proposed to the store."""

from collections.abc import Mapping

from headrace.base.clock import Now
from headrace.partition.role import Role
from headrace.replica.proposal import Proposal


class InSync:
    __slots__ = ("_role",)

    def __init__(self, role: Role) -> None:
        self._role = role

    def on_follower_fetch(self, follower_id: int, broker_epoch: int, offset: int, now: Now) -> None:
        """A follower's fetch from `offset` says that everything below it is on that follower's disk."""
        role = self._role
        leader = role.leader
        if leader is None or not leader.on_fetch(follower_id, broker_epoch, offset, role.log.end_offset, now.mono):
            return
        role.advance()
        self._propose(leader.propose_joiner(follower_id, now.mono))

    def check_followers(self, live: Mapping[int, int], lag_seconds_max: float, now: Now) -> None:
        """Proposes the set without those that fell behind; or with one that waits to join it, and is alive."""
        leader = self._role.leader
        if leader is not None:
            end_offset = self._role.log.end_offset
            self._propose(
                leader.propose_without_laggards(end_offset, lag_seconds_max, now.mono)
                or leader.propose_waiting(live, now.mono)
            )

    def check_stalled(self, seconds_max: float, now: Now) -> None:
        """Proposes the set without those that stand still while something waits to be committed, if enough stay in it."""
        leader, end_offset = self._role.leader, self._role.log.end_offset
        if leader is not None and self._role.high_watermark < end_offset:
            self._propose(leader.propose_without_stalled(end_offset, seconds_max, now.mono))

    def _propose(self, proposal: Proposal | None) -> None:
        if proposal is not None:
            self._role.ready.propose(self._role, proposal)

    # -- a proposal's way --------------------------------------------------------------------------------------------

    def is_proposed(self, proposal: Proposal) -> bool:
        """Whether the proposal is still on its way: no state that was committed since has ended it."""
        leader = self._role.leader
        return leader is not None and leader.underway.proposal is proposal

    def on_proposal_sent(self) -> None:
        leader = self._role.leader
        assert leader is not None, self._role.id
        leader.underway.on_sent()

    def withdraw_proposal(self) -> bool:
        """Whether it could be given up. Without the joiner more may be committed than a moment ago."""
        leader = self._role.leader
        is_withdrawn = leader is None or leader.underway.withdraw()
        self._role.advance()
        return is_withdrawn

    def on_proposal_refused(self) -> None:
        """Ends the proposal: a comparison other than that of the partition itself failed.

        Revisions only rise: neither this attempt nor an earlier one was committed, or ever will be.
        """
        leader = self._role.leader
        if leader is not None:
            leader.underway.end()
            self._role.advance()
