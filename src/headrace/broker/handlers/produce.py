"""Produce: append every batch at once, answer when the acks that were asked for are true."""

from typing import TYPE_CHECKING

from headrace.base.errors import DiskFull, Refused
from headrace.broker.handlers.first_writes import BY_ID_SINCE_PRODUCE, FirstWrites
from headrace.broker.handlers.hints import leader_hint, node_endpoints
from headrace.broker.net.dispatch import Request
from headrace.broker.net.requests_in_order import Pending
from headrace.partition.admission import RecordsRefused
from headrace.partition.appends import Appended
from headrace.partition.partition import Partition
from headrace.partition.verification import Verification
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

ALL = -1
_KNOWN_ACKS = (ALL, 0, 1)


def handle_produce(broker: "Broker", request: Request) -> ProduceResponse | Pending | None:
    answer = ProduceAnswer(broker, request)
    if request.body.transactional_id is not None and request.body.acks == ALL:
        first_writes = FirstWrites(broker.view, broker.partitions, broker.transaction_checks, request)
        if first_writes.questions:
            return _check_first(answer, first_writes, request)
    answer.append_all()
    return answer.result()


def _check_first(answer: "ProduceAnswer", first_writes: FirstWrites, request: Request) -> Pending:
    """Nothing later from this connection is looked at before these batches are in: they have to stay in order."""
    pending = request.defer()

    async def check() -> None:
        answer.first_writes = await first_writes.until_checked()
        answer.append_all()
        answer.answer_with(pending)

    request.connection.requests.run(check())
    return pending


class ProduceAnswer:
    """One request's reply in the making; a waiter for each of its partitions whose ack is not true yet."""

    __slots__ = (
        "_acks",
        "_broker",
        "_deadline",
        "_now",
        "_pending",
        "_request",
        "_waiting",
        "first_writes",
        "response",
    )

    def __init__(self, broker: "Broker", request: Request) -> None:
        self.response = ProduceResponse([])
        self._broker = broker
        self._request = request
        self._acks = request.body.acks
        self._now = request.now
        # A dict, not a set: the order of what times out is the order of the request.
        self._waiting: dict[int, PartitionProduceResponse] = {}
        self._pending: Pending | None = None
        self.first_writes: FirstWrites | None = None

    def append_all(self) -> None:
        by_id = self._request.version >= BY_ID_SINCE_PRODUCE
        if self.first_writes is not None:
            self._now = self._broker.check_lease()
        for topic in self._request.body.topic_data:
            name = self._broker.image.topic_names.get(topic.topic_id) if by_id else topic.name
            asked = topic.topic_id if by_id else topic.name
            parts = [self.append(name, asked, part) for part in topic.partition_data]
            self.response.responses.append(TopicProduceResponse(topic.name, topic.topic_id, parts))

    def append(self, name: str | None, asked: str | bytes, part: PartitionProduceData) -> PartitionProduceResponse:
        """`asked` is what the request calls the topic, `name` what we know it as."""
        broker, request, acks = self._broker, self._request, self._acks
        partition: Partition | None = None
        try:
            if acks not in _KNOWN_ACKS:
                raise Refused(ErrorCode.INVALID_REQUIRED_ACKS, f"acks is {acks}; allowed are -1 (all), 0 and 1")
            partition = broker.partitions.hosted(name, part.index, request.version >= BY_ID_SINCE_PRODUCE)
            broker.check_may_write(partition)
            if part.records is None:
                raise Refused(ErrorCode.INVALID_RECORD, "the request has no records for this partition")
            if broker.refused_batches and partition.is_leader:
                broker.refused_batches.check((asked, part.index), part.records, partition, request.now)
            verification = None if self.first_writes is None else self.first_writes.verification(name, part.index)
            base_offset, end_offset, log_append_time = self._append_to(partition, part.records, verification)
        except Refused as refusal:
            broker.refused_batches.note((asked, part.index), part.records, refusal.code, partition, self._now)
            return self._refused(name, part.index, refusal)
        result = PartitionProduceResponse(part.index, 0, base_offset, log_append_time, partition.log.start_offset)
        if acks and partition.wait(end_offset, acks, self, result):
            self._waiting[id(result)] = result
        return result

    def _append_to(self, partition: Partition, records: memoryview, verification: Verification | None) -> Appended:
        try:
            return partition.appends.append(records, self._acks, self._request.version, self._now, verification)
        except DiskFull as full:
            # From here on refused before it is tried.
            self._broker.disk_room.look()
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, str(full)) from full

    def _refused(self, name: str | None, index: int, refusal: Refused) -> PartitionProduceResponse:
        result = PartitionProduceResponse(index, refusal.code, -1, error_message=refusal.message or None)
        if isinstance(refusal, RecordsRefused):
            result.record_errors = [
                BatchIndexAndErrorMessage(position, refusal.message) for position in refusal.record_indexes
            ]
        if refusal.code == ErrorCode.NOT_LEADER_OR_FOLLOWER and name is not None:
            result.current_leader = leader_hint(self._broker.image, name, index)
            self.response.node_endpoints = node_endpoints(self._broker.image, self._request.listener)
        return result

    def result(self) -> ProduceResponse | Pending | None:
        if self._acks == 0:
            self._close_on_error()
            return None
        if not self._waiting:
            return self.response
        self._pending = self._request.defer()
        self._await_acks()
        return self._pending

    def answer_with(self, pending: Pending) -> None:
        """Completes a reply that is owed already; otherwise like `result`."""
        if self._waiting:
            self._pending = pending
            self._await_acks()
        else:
            pending.complete(self.response)

    def _await_acks(self) -> None:
        self._deadline = self._broker.deadlines.after(self._request.body.timeout_ms / 1000, self._on_timeout)
        # The batches are written; holding on to the request would hold on to the connection's buffer.
        self._request.body = None

    def _close_on_error(self) -> None:
        """With acks=0 there is no reply to carry an error; a closed connection is how the client learns of it."""
        for topic in self.response.responses:
            for part in topic.partition_responses:
                if part.error_code:
                    cause = part.error_message or f"error {part.error_code}"
                    self._request.connection.close_because(f"a produce with acks=0 was refused: {cause}")
                    return

    # -- as a waiter -----------------------------------------------------------------------------------------------

    def is_waiting(self, part: PartitionProduceResponse) -> bool:
        return id(part) in self._waiting

    def on_reached(self, part: PartitionProduceResponse) -> None:
        if self._waiting.pop(id(part), None) is not None and not self._waiting:
            self._finish()

    def on_lost(self, part: PartitionProduceResponse, code: int) -> None:
        part.error_code = code
        part.base_offset = -1
        self.on_reached(part)

    def _on_timeout(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for part in waiting.values():
            part.error_code = ErrorCode.REQUEST_TIMED_OUT
            part.error_message = "not durable on all in-sync replicas in time; it may still become so"
        self._finish()

    def _finish(self) -> None:
        self._deadline.cancel()
        # Nobody is told before the end of the turn in which it began to wait.
        assert self._pending is not None
        self._pending.complete(self.response)
