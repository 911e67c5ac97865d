"""Fetch: as many whole batches as fit, as file ranges; when there is not enough, wait for more or for the deadline."""

from typing import TYPE_CHECKING

from headrace.base.errors import Refused
from headrace.broker.handlers.hints import leader_hint, node_endpoints
from headrace.broker.net.dispatch import Request
from headrace.broker.net.requests_in_order import Pending
from headrace.broker.security.rights import Rights
from headrace.partition.fetch_session import FetchEntry, FetchSession
from headrace.partition.partition import Partition
from headrace.security.operations import Operation
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

HINTS_SINCE = 16
READ_COMMITTED = 1
READ_FROM_FOLLOWER_SINCE = 11
# In place of a watermark that would be older than what its reader was told before.
UNKNOWN_OFFSET = -1
# How long a follower's parked fetch waits for company once there is a newer watermark to tell.
WATERMARK_SECONDS_MAX = 0.02
_HINTED = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def handle_fetch(broker: "Broker", request: Request) -> FetchResponse | Pending:
    try:
        session = broker.sessions.resolve(request.body, request.version, request.connection.credential)
    except Refused as refusal:
        return FetchResponse(error_code=refusal.code)
    fetch = ActiveFetch(broker, request, session)
    if fetch.collect() or request.body.max_wait_ms <= 0 or not session.entries:
        return fetch.response()
    return fetch.park()


class ActiveFetch:
    """One fetch: reads what its session says is worth reading, and parks when that is too little."""

    __slots__ = (
        "_broker",
        "_collected",
        "_committed_only",
        "_deadline",
        "_follower",
        "_is_full",
        "_now",
        "_pending",
        "_request",
        "_rights",
        "_session",
    )

    def __init__(self, broker: "Broker", request: Request, session: FetchSession) -> None:
        self._broker = broker
        self._request = request
        self._session = session
        self._rights = None if request.rights.is_unlimited else request.rights
        self._is_full = request.body.session_epoch <= 0
        self._follower = _follower_of(request.body) if session.is_follower else None
        self._committed_only = request.body.isolation_level == READ_COMMITTED and not session.is_follower
        self._now = request.now
        self._collected: list[tuple[FetchEntry, PartitionData]] = []
        self._pending: Pending | None = None

    # -- reading ---------------------------------------------------------------------------------------------------

    def collect(self) -> bool:
        """Read every entry worth it; True when the reply should leave now."""
        body = self._request.body
        left = min(body.max_bytes, self._broker.fetch_bytes_max)
        got = 0
        urgent = False
        for entry in list(self._session.dirty):
            part = self._read(entry, min(left - got, entry.max_bytes), at_least_one=got == 0)
            got += 0 if part.records is None else len(part.records)
            urgent = urgent or bool(
                part.error_code or part.diverging_epoch is not None or part.preferred_read_replica >= 0
            )
            self._collected.append((entry, part))
        return urgent or got >= body.min_bytes

    def _read(self, entry: FetchEntry, max_bytes: int, at_least_one: bool) -> PartitionData:
        part = PartitionData(entry.index, 0, -1, records=b"")
        session = self._session
        try:
            name = self._broker.image.topic_names.get(entry.topic_id) if session.by_id else entry.topic
            if self._rights is not None and name is not None:
                _check_rights(self._rights, name, session.is_follower)
            partition = self._broker.partitions.hosted(name, entry.index, by_id=session.by_id)
            if session.is_kept:
                entry.follow(partition)
            self._fill(part, partition, entry, max_bytes, at_least_one)
        except Refused as refusal:
            part.error_code = refusal.code
            if refusal.code in _HINTED and name is not None:
                part.current_leader = leader_hint(self._broker.image, name, entry.index)
        else:
            # Read to its end, it is not worth another look before something moves.
            if part.records or not self._available_in(partition, entry):
                session.dirty.pop(entry, None)
            # What is sent to a consumer is not read yet: it may drop it, in a rebalance for one, and then stands where it
            # stood without a word; so it stays, behind the others. A follower says so, and until it has synced what it was
            # sent it names the offset of before.
            if part.records and not session.is_follower:
                session.dirty[entry] = None
        return part

    def _fill(
        self, part: PartitionData, partition: Partition, entry: FetchEntry, max_bytes: int, at_least_one: bool
    ) -> None:
        self._check_may_read(partition, entry)
        part.high_watermark, part.last_stable_offset = partition.high_watermark, partition.reads.last_stable_offset
        part.log_start_offset = partition.log.start_offset
        if self._follower is None and not partition.reads.is_watermark_known:
            part.high_watermark = part.last_stable_offset = UNKNOWN_OFFSET
        if self._committed_only:
            part.aborted_transactions = []
        diverging = self._diverging(partition, entry)
        if diverging is not None:
            part.diverging_epoch = diverging
            return
        if self._follower is not None:
            self._note_progress(partition, entry)
            part.high_watermark = partition.high_watermark
        elif self._request.body.rack_id and self._is_nearer_elsewhere(part, partition, entry):
            return
        committed_only = self._committed_only
        found = partition.reads.read(
            entry.fetch_offset, max_bytes, at_least_one, self._session.is_follower, committed_only
        )
        if found is not None:
            part.records = found
            if committed_only:
                part.aborted_transactions = [
                    AbortedTransaction(*aborted)
                    for aborted in partition.log.state.transactions.aborted.between(
                        entry.fetch_offset, found.next_offset
                    )
                ]

    def _check_may_read(self, partition: Partition, entry: FetchEntry) -> None:
        """A follower fetches from the leader; a consumer that names its rack may have been sent here, whoever leads.

        One that names none is here because its metadata is old: what a follower has would be older than what it knows.
        """
        if self._follower is None and self._request.body.rack_id and self._request.version >= READ_FROM_FOLLOWER_SINCE:
            partition.check_epoch(entry.current_leader_epoch)
            if partition.state.leader < 0:
                partition.check_leader()
        else:
            partition.check_leader(entry.current_leader_epoch)
        if self._follower is None and partition.leader is not None and partition.leader.has_min_isr:
            # For a moment only. With too few replicas it may not be known for long: what is committed is served then.
            partition.reads.check_watermark_known()

    def _note_progress(self, partition: Partition, entry: FetchEntry) -> None:
        """Counted once for each time the follower names an offset, not again when a parked fetch is answered."""
        assert self._follower is not None
        if self._follower[0] not in partition.state.replicas:
            # It knows of a move that we have yet to hear of. Served now, it would be at the end before we count it,
            # and on a quiet partition never name an offset again.
            raise Refused(ErrorCode.UNKNOWN_LEADER_EPOCH, f"broker {self._follower[0]} is no replica here yet")
        if self._pending is None and entry.fetch_offset <= partition.log.end_offset:
            partition.in_sync.on_follower_fetch(*self._follower, entry.fetch_offset, self._now)

    def _is_nearer_elsewhere(self, part: PartitionData, partition: Partition, entry: FetchEntry) -> bool:
        nearest = self._broker.nearest_replica(partition, self._request.body.rack_id, entry.fetch_offset)
        if nearest is None:
            return False
        part.preferred_read_replica = nearest
        return True

    def _diverging(self, partition: Partition, entry: FetchEntry) -> EpochEndOffset | None:
        if entry.last_fetched_epoch < 0:
            return None
        epoch, end_offset = partition.reads.epoch_end(entry.last_fetched_epoch)
        if epoch == entry.last_fetched_epoch and end_offset >= entry.fetch_offset:
            return None
        if not partition.is_leader:
            # A replica that is behind ends its epochs too early: only the leader knows where histories part.
            raise Refused(ErrorCode.OFFSET_NOT_AVAILABLE, f"this replica of {partition.id} is not there yet")
        if epoch < 0:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, "the last fetched epoch is not known here")
        return EpochEndOffset(epoch, end_offset)

    # -- answering -------------------------------------------------------------------------------------------------

    def response(self) -> FetchResponse:
        session = self._session
        topics: dict[tuple[str, bytes], FetchableTopicResponse] = {}
        hinted = False
        for entry, part in self._collected:
            if not self._is_full and not _is_news(entry, part):
                continue
            entry.sent_high_watermark = part.high_watermark
            entry.sent_start_offset = part.log_start_offset
            hinted = hinted or part.current_leader is not None
            topic = topics.get((entry.topic, entry.topic_id))
            if topic is None:
                topic = topics[entry.topic, entry.topic_id] = FetchableTopicResponse(entry.topic, entry.topic_id, [])
            topic.partitions.append(part)
        self._collected = []
        response = FetchResponse(0, 0, session.id, list(topics.values()))
        if hinted and self._request.version >= HINTS_SINCE:
            response.node_endpoints = node_endpoints(self._broker.image, self._request.listener)
        return response

    # -- waiting ---------------------------------------------------------------------------------------------------

    def park(self) -> Pending:
        self._pending = self._request.defer()
        self._pending.on_abandoned = self._unpark
        self._session.parked = self
        if not self._session.is_kept:
            for entry, _ in self._collected:
                name = self._broker.image.topic_names.get(entry.topic_id) if self._session.by_id else entry.topic
                entry.follow(self._broker.partitions.find(name, entry.index))
        wait = self._request.body.max_wait_ms / 1000
        if self._put_back():
            wait = min(wait, WATERMARK_SECONDS_MAX)
        self._deadline = self._broker.deadlines.after(wait, self.finish)
        return self._pending

    def on_change(self, entry: FetchEntry) -> None:
        partition = entry.partition
        if partition is None or self._is_outdated(partition, entry) or self._has_enough(partition, entry):
            self.finish()
        elif self._follower is not None and partition.high_watermark > entry.known_high_watermark:
            self._hurry()

    def _is_outdated(self, partition: Partition, entry: FetchEntry) -> bool:
        if self._follower is not None:
            return not partition.is_leader or partition.leader_epoch != entry.current_leader_epoch
        return partition.state.leader < 0 or -1 < entry.current_leader_epoch != partition.leader_epoch

    def _has_enough(self, partition: Partition, entry: FetchEntry) -> bool:
        """Looks at the others only if this one brings bytes: a watermark that moves on thousands comes here each time."""
        own = self._available_in(partition, entry)
        least = self._request.body.min_bytes
        return own >= least or (own > 0 and self._available() >= least)

    def _available(self) -> int:
        """Bytes a read would find now."""
        return sum(
            self._available_in(entry.partition, entry) for entry in self._session.dirty if entry.partition is not None
        )

    def _available_in(self, partition: Partition, entry: FetchEntry) -> int:
        return partition.reads.available_bytes(entry.fetch_offset, self._session.is_follower, self._committed_only)

    def _hurry(self) -> None:
        """Nothing to copy, but the watermark moved: its readers should not wait half a second to see that."""
        self._deadline.cancel()
        self._deadline = self._broker.deadlines.after(WATERMARK_SECONDS_MAX, self.finish)

    def finish(self) -> None:
        """Answers with what there is."""
        pending = self._pending
        assert pending is not None
        self._unpark()
        # It waited, perhaps with the whole process: what was true of our lease then need not be now.
        self._now = self._broker.check_lease()
        try:
            self._answer(pending)
        except Exception as error:
            # Others are woken after this fetch, or another request has ended it: neither must be stopped by this.
            self._put_back()
            pending.fail(error)

    def _answer(self, pending: Pending) -> None:
        for entry in self._session.entries.values() if self._is_full else ():
            self._session.dirty[entry] = None
        self.collect()
        if not self._session.is_kept:
            self._session.unfollow_all()
        pending.complete(self.response())

    def _unpark(self) -> None:
        self._deadline.cancel()
        self._session.parked = None
        if not self._session.is_kept:
            self._session.unfollow_all()

    def _put_back(self) -> bool:
        """Releases batches that are too few to send; they are read again when there is more.

        True when a follower has a newer watermark to hear of: its own fetch may just have moved it, and nothing else
        would tell it on a partition that is quiet from now on.
        """
        moved = False
        for entry, part in self._collected:
            if part.records:
                part.records.release()
            if part.records or _is_news(entry, part):
                self._session.dirty[entry] = None
            moved = moved or part.high_watermark > entry.known_high_watermark
        self._collected = []
        return moved and self._follower is not None


def _follower_of(body: FetchRequest) -> tuple[int, int]:
    """(broker, epoch of its registration) of the follower that asks."""
    if body.replica_state is None:
        return body.replica_id, -1
    return body.replica_state.replica_id, body.replica_state.replica_epoch


def _is_news(entry: FetchEntry, part: PartitionData) -> bool:
    return bool(
        part.error_code
        or part.records
        or part.diverging_epoch is not None
        or part.preferred_read_replica >= 0
        or part.high_watermark != entry.sent_high_watermark
        or part.log_start_offset != entry.sent_start_offset
    )


def _check_rights(rights: Rights, topic: str, is_follower: bool) -> None:
    """Asked at each look, and not when the session began: rules change, and a parked fetch may have waited for long."""
    if not (rights.cluster(Operation.CLUSTER_ACTION) if is_follower else rights.topic(Operation.READ, topic)):
        raise Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
