"""A consumer group as a test sees it: its members, each a process, polled all at the same time."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from clients.members.member import Member, Polled, Read
from eventually import until

# An assignment that the next round would change is not settled.
ROUNDS_UNCHANGED = 2


class Group:
    def __init__(self, bootstrap: str, name: str, topic: str, partitions: int) -> None:
        self.name = name
        self.members: list[Member] = []
        self.partitions = frozenset(range(partitions))
        self._bootstrap = bootstrap
        self._topic = topic
        self._left: list[Member] = []
        self._pool = ThreadPoolExecutor(8)

    def add(self, library: str, **settings: Any) -> Member:
        member = Member(library, self._bootstrap, self.name, self._topic, **settings)
        self.members.append(member)
        return member.join()

    def leave(self, member: Member) -> None:
        self._part_with(member)
        member.leave()
        member.kill()

    def kill(self, member: Member) -> None:
        self._part_with(member)
        member.kill()

    def _part_with(self, member: Member) -> None:
        self.members.remove(member)
        self._left.append(member)

    def poll(self) -> list[Polled]:
        return list(self._pool.map(Member.poll, self.members))

    def settle(self) -> list[frozenset[int]]:
        """Polls until every partition has exactly one owner, and every member something to do; who owns what."""
        last: list[frozenset[int]] = []
        unchanged = 0

        def settled() -> bool:
            nonlocal last, unchanged
            now = [polled.assigned for polled in self.poll()]
            unchanged = unchanged + 1 if now == last and self._is_shared_out(now) else 0
            last = now
            return unchanged >= ROUNDS_UNCHANGED

        self.until(settled)
        return last

    def _is_shared_out(self, assigned: list[frozenset[int]]) -> bool:
        owners = Counter(partition for each in assigned for partition in each)
        everyone_works = all(assigned) or len(assigned) > len(self.partitions)
        return everyone_works and owners == dict.fromkeys(self.partitions, 1)

    def read_until(self, expected: set[Read]) -> None:
        """Polls until the members, those that are gone too, have read all of these between them."""
        self.until(lambda: bool(self.poll()) and expected <= self.reads)

    @property
    def reads(self) -> set[Read]:
        return {read for member in (*self.members, *self._left) for read in member.reads}

    def until(self, condition: Callable[[], bool]) -> None:
        until(
            condition,
            otherwise=lambda: [(each.library, sorted(each.assigned), len(each.reads)) for each in self.members],
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        for member in self.members:
            member.kill()
        self._pool.shutdown()
