"""A store without a store: applies commits to a dict, so that the tests of pure changes need no event loop."""

from collections.abc import Iterable, Mapping

from headrace.cluster.entities import Broker
from headrace.cluster.image import Image
from headrace.cluster.registration import register_broker
from headrace.cluster.store import FIRST, OPERATIONS_MAX, Change, Commit, Entry, Snapshot


class Ledger:
    def __init__(self, brokers: int = 3) -> None:
        self.entries: dict[str, Entry] = {}
        self.image = Image()
        for number in range(1, brokers + 1):
            self.run([register_broker(self.image, Broker(number, 0, "127.0.0.1", 9091 + number)).commit])

    @property
    def live(self) -> set[int]:
        return set(self.image.brokers)

    def run(self, commits: Iterable[Commit]) -> None:
        first = 0
        for puts, expect in commits:
            assert 0 < len(puts) <= OPERATIONS_MAX
            assert len(expect) <= OPERATIONS_MAX
            for key, wanted in expect.items():
                have = self.entries[key].revision if key in self.entries else 0
                assert have == (first if wanted == FIRST else wanted), f"conflict on {key}"
            revision = self.image.revision + 1
            first = first or revision
            for key, value in puts.items():
                if value is None:
                    self.entries.pop(key, None)
                else:
                    self.entries[key] = Entry(value, revision)
            changes = [Change(key, value, revision) for key, value in puts.items()]
            self.image = self.image.apply(changes, revision)

    def rebuilt(self) -> Image:
        return image_of(self.entries, self.image.revision)


def image_of(entries: Mapping[str, Entry], revision: int) -> Image:
    return Image().apply(Snapshot(revision, entries).changes(), revision)
