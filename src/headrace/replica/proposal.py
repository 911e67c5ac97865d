"""A proposed change of the in-sync set, and its way to the store: one at a time.

begun ─▶ sent ─▶ a newer committed state, or a failed comparison, ends it
    └─ withdrawn, as long as it was not sent: what the store has may become true, however long it says nothing
"""

from typing import NamedTuple


class Proposal(NamedTuple):
    isr: tuple[int, ...]
    # The follower that joins, with the registration whose fetches proved it.
    added: dict[int, int]


class Underway:
    """The proposal on its way, if there is one."""

    __slots__ = ("_is_sent", "proposal")

    def __init__(self) -> None:
        self.proposal: Proposal | None = None
        self._is_sent = False

    def begin(self, proposal: Proposal, leader: int) -> Proposal:
        assert self.proposal is None, f"{proposal} beside {self.proposal}"
        assert leader in proposal.isr, f"{proposal} without its leader"
        assert len({*proposal.isr}) == len(proposal.isr) and {*proposal.isr} >= proposal.added.keys(), proposal
        self.proposal = proposal
        return proposal

    def on_sent(self) -> None:
        """Notes that the store decides now: it may commit the proposal long after everybody stopped waiting for the
        answer."""
        self._is_sent = True

    def withdraw(self) -> bool:
        """Gives up the proposal if it was never sent; returns whether it could."""
        if self._is_sent:
            return False
        self.end()
        return True

    def end(self) -> None:
        self.proposal = None
        self._is_sent = False
