"""Work that the calls of this turn left to do, for all partitions of one broker. The shell carries it out in this order:

    1. sync        logs with something new: a round begins, if none runs
    2. copiers     parked fetches of followers: acks wait for their disks too
    3. told        whoever waited for an offset: reached, or never will be, in the order in which that became true
    4. readers     parked fetches of consumers
    5. proposals   changes of in-sync sets, on their way to the store

What that causes in turn is due at the end of the next turn. `moved` is not carried out but collected: the shell takes
it when it writes offsets down, and when it looks after whatever is not at rest.
"""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from headrace.partition.waiters import Told
from headrace.replica.proposal import Proposal

P = TypeVar("P")


class Sleeper(Protocol):
    """A place in a parked fetch: woken, it looks whether there is enough to answer."""

    def wake(self) -> None: ...


class Due(NamedTuple):
    copiers: dict[Sleeper, None]
    told: list[Told]
    readers: dict[Sleeper, None]
    proposals: dict[Any, Proposal]


class Ready(Generic[P]):
    """Marks, each made once however often it is due. Dicts, for their order: the simulator sees the same one each time."""

    __slots__ = ("_copiers", "_is_due", "_on_due", "_proposals", "_readers", "_told", "moved", "sync")

    def __init__(self) -> None:
        self.sync: dict[P, None] = {}
        self.moved: dict[P, None] = {}
        self._copiers: dict[Sleeper, None] = {}
        self._readers: dict[Sleeper, None] = {}
        self._told: list[Told] = []
        self._proposals: dict[P, Proposal] = {}
        self._is_due = False
        self._on_due: Callable[[], object] = lambda: None

    def on_due(self, call: Callable[[], object]) -> None:
        """`call` is called once before each `take`, when the first mark is made."""
        self._on_due = call
        if self._is_due:
            call()

    def owe_sync(self, partition: P) -> None:
        self.sync[partition] = None
        if not self._is_due:
            self._become_due()

    def wake_copier(self, sleeper: Sleeper) -> None:
        self._copiers[sleeper] = None
        if not self._is_due:
            self._become_due()

    def wake_reader(self, sleeper: Sleeper) -> None:
        self._readers[sleeper] = None
        if not self._is_due:
            self._become_due()

    def tell(self, told: list[Told]) -> None:
        if told:
            self._told += told
            if not self._is_due:
                self._become_due()

    def propose(self, partition: P, proposal: Proposal) -> None:
        self._proposals[partition] = proposal
        if not self._is_due:
            self._become_due()

    def _become_due(self) -> None:
        self._is_due = True
        self._on_due()

    def take(self) -> Due:
        """Takes all that is due but the syncs, which their runner takes. Marks from here on are due again."""
        due = Due(self._copiers, self._told, self._readers, self._proposals)
        self._is_due = False
        self._copiers, self._told, self._readers, self._proposals = {}, [], {}, {}
        return due
