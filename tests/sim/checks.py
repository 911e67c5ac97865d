"""What must be true of a cluster, by name, whatever happens to it.

    synced-ack          at every ack the record's end is at or below the synced end of every in-sync replica, and at every
                        look the watermark of whoever leads, of every topic
    in-sync             at every commit of the store each member of an in-sync set holds all that was ever acked
    no-ack-lost         an acknowledged record is where it was said to be, on every leader from then on
    agreed              an offset holds the same record for every reader, for ever
    dense               a reader sees every offset, one after the other
    one-leader          of a partition there is at most one leader in an epoch
    watermark           the high watermark never goes back for a client
    lease               a broker answers as a leader only while its lease is alive: before anyone else may lead
    identical           replicas hold the same bytes below their high watermarks, of a compacted topic the same records
    no-duplicate        an idempotent producer's record is in the log once, in the order of its sending
    goes-on             while a majority is well, its partitions have leaders and acks (see `liveness`)
    by-time             ListOffsets by a record's time finds that record, or one before it
    retained            retention by size leaves as much as the topic is to keep
    bounded             what a broker keeps for a partition has a bound, and nobody is left waiting in the calm (`bounds`)
    caught-up           after the calm every replica is in sync and complete, and every producer and reader is done
    fresh               a broker answers by metadata that is older than its lease at no time
    no-bug              no callback raises, no handler fails, no broker stops for a reason nobody gave it

The first breach stops the run. Checks look at the real objects of the brokers, never change them.
"""

import zlib
from typing import Any, NamedTuple

from headrace.cluster.entities import PartitionState, Topic
from headrace.cluster.image import Image
from headrace.cluster.store import Change
from headrace.wire.batch import BatchHeader, iter_headers
from headrace.wire.records import Record, read_records
from sim.bounds import overcrowded, overgrown
from sim.committed_ends import CommittedEnds
from sim.durability import end_that_counts
from sim.fresh_images import FreshImages
from sim.host import Host
from sim.world import World

Place = tuple[str, int]
READ_BYTES = 1 << 20
# Producers that are not idempotent: order is promised only as long as one broker leads.
UNORDERED = b"bulk"
BY_ID = "@"


def label(topic: str, topic_id: bytes) -> str:
    """The name, here, of a topic of which there may be others of that name, before and after."""
    return f"{topic}{BY_ID}{topic_id.hex()[:12]}"


class Breach(NamedTuple):
    invariant: str
    detail: str


class Checks:
    def __init__(self, world: World) -> None:
        self.breach: Breach | None = None
        self.acks = 0
        self.reads = 0
        self.acked: dict[Place, dict[int, bytes]] = {}
        self.seen: dict[Place, dict[int, bytes]] = {}
        self.sent: dict[Place, dict[bytes, int]] = {}
        self.deleted: dict[Place, int] = {}
        """Up to where somebody asked for records to be deleted: those may be gone."""
        self.kept_bytes: dict[str, int] = {}
        """By topic with a limit: a log that lost something to it has at least so many bytes left."""
        self.rotten: dict[tuple[int, str], None] = {}
        """Broker and partition whose files were damaged on purpose."""
        self._world = world
        world.on_death = self._inspect_host
        # Called within each commit, so before anybody can act on it.
        world.shelf.watchers[self._on_store] = None
        self._image = Image()
        self._leaders: dict[tuple[bytes, str, int], int] = {}
        self._watermarks: dict[tuple[str, str, int], int] = {}
        self._places: dict[tuple[str, int, bytes], int] = {}
        self._producer_ids: dict[int, None] = {}
        self._truth: dict[tuple[bytes, int], Truth] = {}
        self._looked: dict[tuple[int, int, bytes, int], tuple[int, int]] = {}
        self._synced: dict[tuple[int, bytes, int], int] = {}
        self._fresh_images = FreshImages(world)
        self._committed = CommittedEnds(world)

    def fail(self, invariant: str, detail: str) -> None:
        if self.breach is None:
            self.breach = Breach(invariant, detail)
            self._world.say("BREACH", f"{invariant}: {detail}")
            self._world.agenda.stopped = True

    # -- what clients see ------------------------------------------------------------------------------------------

    def on_producer_id(self, producer_id: int) -> None:
        if producer_id in self._producer_ids:
            self.fail("no-duplicate", f"producer id {producer_id} was given twice")
        self._producer_ids[producer_id] = None

    def on_sent(self, topic: str, index: int, values: list[bytes]) -> None:
        sent = self.sent.setdefault((topic, index), {})
        for value in values:
            sent[value] = len(sent)

    def on_ack(self, topic: str, index: int, base_offset: int, values: list[Any]) -> None:
        """Called at the moment a broker writes the reply."""
        self.acks += 1
        end = base_offset + len(values)
        found = self._topic(topic)
        for broker_id in () if found is None else found.partitions[index].isr:
            synced = self._synced_end(broker_id, found, index)
            if synced < end:
                detail = (
                    f"{topic}-{index} offsets {base_offset}-{end - 1} acked, broker {broker_id} in sync at {synced}"
                )
                self.fail("synced-ack", detail)
        if found is not None:
            self._committed.on_ack((found.id, index), end)
        acked = self.acked.setdefault((topic, index), {})
        for offset, value in enumerate(values, base_offset):
            if acked.setdefault(offset, value) != value:
                self.fail("agreed", f"{topic}-{index} offset {offset} acked for {acked[offset]!r} and {value!r}")
            self._see(topic, index, offset, value, "an ack")

    def on_leader_ack(self, address: str, topic: str, index: int, end: int) -> None:
        """acks=1: true of the leader alone, and no longer than it leads."""
        self.acks += 1
        host = next(host for host in self._world.hosts if host.address == address)
        if self._synced_end(host.id, self.image().topics[topic], index) < end:
            self.fail("synced-ack", f"{topic}-{index} up to {end} acked with acks=1, {host.name} has less on disk")

    def on_next_epoch(self, before: tuple[int, int], after: tuple[int, int]) -> None:
        if after[0] != before[0]:
            self.on_producer_id(after[0])
        elif after[1] <= before[1]:
            self.fail("no-duplicate", f"producer {before[0]} asked for an epoch after {before[1]}, got {after[1]}")

    def on_answered(self, address: str, what: str) -> None:
        """A broker has just answered as a leader does. One that stood still between its look at the lease and the write is
        not to blame: no code can be without such a moment, and no ack rests on it."""
        world = self._world
        host = next(host for host in world.hosts if host.address == address)
        lease, ends = world.shelf.leases.get(f"broker/{host.id}", (None, 0.0))
        stood_still = world.agenda.now - host.loop.paused_at if host.loop.resumed_at == world.agenda.now else 0.0
        if lease is None or ends <= world.store_clock.now().mono - stood_still:
            self.fail("lease", f"{host.name} gave {what}, though its lease ran out at {ends:.3f}")

    def on_forgotten(self, topic: str, index: int, value: bytes) -> None:
        self.fail(
            "no-ack-lost", f"{topic}-{index}: the sequence before {_short(value)} was acked and is not known any more"
        )

    def on_gap(self, topic: str, index: int, address: str) -> None:
        """Our producers send in order, so a gap is of the broker's making. Some clients give up a transaction for it."""
        self.fail("no-gap", f"{topic}-{index}: {address} called a batch out of order that was sent in order")

    def on_read(self, who: str, topic: str, index: int, offset: int, value: bytes, expected: int, high: int) -> None:
        self.reads += 1
        if offset != expected:
            self.fail("dense", f"{who} expected {topic}-{index} offset {expected}, got {offset}")
        if offset >= high >= 0:
            self.fail("watermark", f"{who} read {topic}-{index} offset {offset} at a high watermark of {high}")
        self._see(topic, index, offset, value, who)

    def on_high_watermark(self, who: str, topic: str, index: int, offset: int) -> None:
        """-1 is what a leader says that does not know yet."""
        before = self._watermarks.get((who, topic, index), 0)
        if offset == -1:
            return
        if offset < before:
            self.fail("watermark", f"{who} was told {before} of {topic}-{index}, then {offset}")
        self._watermarks[who, topic, index] = offset

    def on_deletion(self, topic: str, index: int, before: int) -> None:
        """Asked for; whether it comes to pass nobody knows."""
        self.deleted[topic, index] = max(before, self.deleted.get((topic, index), 0))

    def deleted_before(self, topic: str, index: int) -> int:
        self.inspect()
        return self.deleted.get((topic, index), 0)

    def on_out_of_range(self, who: str, topic: str, index: int, offset: int) -> None:
        self.inspect()
        if offset < self.deleted.get((topic, index), 0):
            return
        self.fail("watermark", f"{who} has read {topic}-{index} up to {offset}, which is now said to be out of range")

    def _see(self, topic: str, index: int, offset: int, value: bytes, who: str) -> None:
        known = self.seen.setdefault((topic, index), {}).setdefault(offset, value)
        if known != value:
            self.fail("agreed", f"{topic}-{index} offset {offset} is {_short(known)}, for {who} {_short(value)}")
        place = self._places.setdefault((topic, index, value), offset)
        if place != offset:
            self.fail("no-duplicate", f"{_short(value)} is in {topic}-{index} at {place} and {offset}")

    def on_final(self, topic: str, index: int, records: dict[int, bytes]) -> None:
        """All of a partition, after the calm."""
        name = f"{topic}-{index}"
        deleted, first = self.deleted.get((topic, index), 0), min(records, default=0)
        if list(records) != list(range(first, first + len(records))) or first > deleted:
            self.fail("dense", f"{name} holds offsets {first} to {max(records, default=-1)}, and not all between")
        for offset, value in self.acked.get((topic, index), {}).items():
            if offset >= deleted and records.get(offset) != value:
                found = records.get(offset)
                self.fail("no-ack-lost", f"{name} offset {offset} was acked as {_short(value)}, is {found!r}")
        order: dict[bytes, int] = {}
        sent = self.sent.get((topic, index), {})
        for offset, value in records.items():
            self._see(topic, index, offset, value, "the last reading")
            if value not in sent:
                self.fail("agreed", f"{name} offset {offset} holds {value[:40]!r}, which nobody sent")
                return
            producer = value.split(b"/", 1)[0]
            if sent[value] < order.get(producer, -1) and not producer.startswith(UNORDERED):
                self.fail(
                    "no-duplicate", f"{name} offset {offset}: {_short(value)} is after a later one of its producer"
                )
            order[producer] = sent[value]

    # -- what the store says ---------------------------------------------------------------------------------------

    def image(self) -> Image:
        shelf = self._world.shelf
        if shelf.revision != self._image.revision:
            for changes in shelf.after(self._image.revision):
                self._image = self._image.apply(changes.changes, changes.revision)
                self._check_leaders()
        return self._image

    def on_restored(self) -> None:
        """The store is an older copy of itself. Who led in which epoch stays known: no epoch is used by two."""
        self._world.shelf.watchers[self._on_store] = None
        entries = self._world.shelf.entries.items()
        changes = [Change(key, entry.value, entry.revision) for key, entry in entries]
        self._image = Image().apply(changes, self._world.shelf.revision)
        self._fresh_images = FreshImages(self._world)

    def _on_store(self) -> None:
        if self._world.shelf.revision == self._image.revision:
            return
        self._committed.note_leaders()
        self._check_in_sync("in-sync")

    def _check_in_sync(self, invariant: str) -> None:
        for lack in self._committed.lacks(self.image()):
            self.fail(invariant, str(lack))

    def _check_leaders(self) -> None:
        for topic in self._image.topics.values():
            for index, state in enumerate(topic.partitions):
                if state.leader >= 0:
                    place = topic.id, f"{topic.name}-{index}"
                    self._lead(place, state.leader_epoch, state.leader, "the store")

    def _topic(self, labelled: str) -> Topic | None:
        """As the store has it; None when it is gone, or another one has its name."""
        found = self.image().topics.get(labelled.partition(BY_ID)[0])
        return found if found is not None and labelled in (found.name, label(found.name, found.id)) else None

    def state(self, topic: str, index: int) -> PartitionState:
        return self.image().topics[topic].partitions[index]

    def _lead(self, place: tuple[bytes, str], epoch: int, broker_id: int, who: str) -> None:
        """By topic id and name: a topic that is made again under its old name begins with its epochs anew."""
        known = self._leaders.setdefault((*place, epoch), broker_id)
        if known != broker_id:
            self.fail("one-leader", f"{place[1]} epoch {epoch} is led by {known} and, says {who}, by {broker_id}")

    # -- what brokers hold -----------------------------------------------------------------------------------------

    def inspect(self) -> None:
        """Everything that can be seen from outside the clients; cheap enough for after every event."""
        for text in self._world.bugs:
            self.fail("no-bug", text)
        self.image()
        if stale := self._fresh_images.look():
            self.fail("fresh", stale)
        for host in self._world.hosts:
            self._inspect_host(host)
        self._check_in_sync("synced-ack")

    def _inspect_host(self, host: Host) -> None:
        """Before its death too: how far its disk was is remembered for as long as nobody can ask it."""
        if host.node is None:
            return
        if host.node.probes.handler_failures:
            self.fail("no-bug", f"{host.name}: a request made its handler fail")
        if host.is_serving and (too_much := overcrowded(host)):
            self.fail("bounded", f"{host.name} keeps {too_much}")
        self._committed.note(host)
        for partition in host.partitions():
            topic, index = partition.id
            if host.is_serving:
                self._synced[host.id, partition.topic_id, index] = end_that_counts(partition)
            if partition.is_leader and host.answers:
                self._lead((partition.topic_id, str(partition.id)), partition.leader_epoch, host.id, host.name)
                self._check_holds_acked(host, partition)
            if topic in self.kept_bytes:
                self._check_kept(host, partition)
            if too_much := overgrown(partition):
                self.fail("bounded", f"{host.name}: {partition.id} keeps {too_much}")
            if (host.id, str(partition.id)) not in self.rotten:
                self._compare(host, partition)

    def _synced_end(self, broker_id: int, topic: Topic, index: int) -> int:
        """Of one that is down, or has just come back and does not know yet, what its last life had proven counts."""
        host = self._world.hosts[broker_id - 1]
        partition = host.partition(topic.name, index) if host.is_serving else None
        if partition is not None and partition.topic_id == topic.id:
            return end_that_counts(partition)
        return self._synced.get((broker_id, topic.id, index), 0)

    def _check_holds_acked(self, host: Host, partition: Any) -> None:
        topic, index = partition.id
        labelled = label(topic, partition.topic_id)
        acked = self.acked.get((topic, index)) or self.acked.get((labelled, index))
        found = self._topic(labelled)
        if not acked or found is None or found.partitions[index].leader_epoch != partition.leader_epoch:
            return
        last = max(acked)
        if last >= partition.log.end_offset:
            self.fail(
                "no-ack-lost", f"{host.name} leads {partition.id}, ends at {partition.log.end_offset}; {last} was acked"
            )

    def _check_kept(self, host: Host, partition: Any) -> None:
        topic, index = partition.id
        # Half, since a fail-over may take an uncommitted end away that was counted.
        start, kept = partition.log.start_offset, self.kept_bytes[topic]
        if start > self.deleted.get((topic, index), 0):
            if partition.is_leader and partition.log.segments.size_bytes < kept // 2:
                self.fail(
                    "retained",
                    f"{host.name} let {partition.id} begin at {start}: {partition.log.segments.size_bytes} bytes left",
                )
            self.deleted[topic, index] = start

    def _compare(self, host: Host, partition: Any) -> None:
        """Each batch below a replica's watermark against the first copy of it that was seen."""
        place = partition.topic_id, partition.id.partition
        key = (host.id, host.lives, *place)
        offset, truncations = self._looked.get(key, (partition.log.start_offset, partition.log.sync.truncations))
        if truncations != partition.log.sync.truncations:
            offset = partition.log.start_offset
        offset = max(offset, partition.log.start_offset)
        truth = self._truth.setdefault(place, Truth())
        end, compacts = partition.high_watermark, partition.config.compacts
        while offset < end and self.breach is None:
            found = partition.log.reader.read(offset, READ_BYTES, end)
            if found is None:
                if not compacts:
                    self.fail(
                        "identical", f"{host.name} has nothing at {partition.id} offset {offset}, below its {end}"
                    )
                return
            content = found.read()
            found.release()
            for position, header in iter_headers(content):
                batch = content[position : position + header.size]
                if not (truth.agrees_on_records if compacts else truth.agrees)(header, batch):
                    self.fail(
                        "identical",
                        f"{host.name} has other bytes in {partition.id} from offset {header.base_offset} on",
                    )
                offset = header.next_offset
        self._looked[key] = (offset, partition.log.sync.truncations)


class Truth:
    """The batches of one partition as they were first seen below a high watermark."""

    def __init__(self) -> None:
        self._batches: dict[int, tuple[int, int]] = {}
        self._records: dict[int, int] = {}

    def agrees(self, header: BatchHeader, batch: bytes) -> bool:
        as_found = header.next_offset, zlib.crc32(batch)
        return self._batches.setdefault(header.base_offset, as_found) == as_found

    def agrees_on_records(self, _: BatchHeader, batch: bytes) -> bool:
        """Where each replica compacts by itself: what is left in a batch is what was there at its offset."""
        found = {each.offset: _content(each) for each in read_records(batch)}
        return all(self._records.setdefault(offset, content) == content for offset, content in found.items())


def _content(record: Record) -> int:
    return zlib.crc32(repr((record.timestamp, record.key, record.value, record.headers)).encode())


def _short(value: bytes) -> str:
    return value.rstrip(b".").decode(errors="replace")
