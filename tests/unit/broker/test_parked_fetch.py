"""A fetch that waits: what becomes of it, and of what it followed, when its session ends."""

from types import SimpleNamespace
from typing import Any

import pytest

from batches import NOW, batch
from headrace.broker.handlers.fetch import handle_fetch
from headrace.broker.security.rights import ANONYMOUS, EVERY_RIGHT
from headrace.cluster.image import Image
from headrace.partition.fetch_session import FINAL_EPOCH, INITIAL_EPOCH, FetchSessions
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from partition_rig import ID, PartitionRig

BY_NAME = 12
SESSION = 101


class Reply:
    """A reply that is owed; `said` is the response, once there is one."""

    def __init__(self) -> None:
        self.said: Any = None
        self.on_abandoned: Any = None

    def complete(self, response: Any) -> None:
        self.said = response


class Rig:
    def __init__(self) -> None:
        self.rig = PartitionRig()
        self.partition = self.rig.partition
        deadline = SimpleNamespace(cancel=lambda: None)
        self.broker: Any = SimpleNamespace(
            sessions=FetchSessions(3, lambda: SESSION, lambda: 0.0),
            image=Image(),
            partitions=SimpleNamespace(hosted=lambda *place, by_id: self.partition),
            fetch_bytes_max=1 << 20,
            deadlines=SimpleNamespace(after=lambda seconds, call: deadline),
            check_lease=lambda: NOW,
        )

    def fetch(self, *partitions: FetchPartition, session_id: int = 0, epoch: int = 0) -> Reply:
        topics = [FetchTopic(ID.topic, partitions=list(partitions))] if partitions else []
        body = FetchRequest(max_wait_ms=500, min_bytes=1000, session_id=session_id, session_epoch=epoch, topics=topics)
        reply = Reply()
        request: Any = SimpleNamespace(
            body=body,
            version=BY_NAME,
            now=NOW,
            defer=lambda: reply,
            connection=SimpleNamespace(credential=ANONYMOUS),
            rights=EVERY_RIGHT,
        )
        response = handle_fetch(self.broker, request)
        if response is not reply:
            reply.complete(response)
        return reply


@pytest.mark.parametrize("epoch", [FINAL_EPOCH, INITIAL_EPOCH])
def test_a_session_that_ends_while_its_fetch_waits_follows_nothing_any_more(epoch: int) -> None:
    """A client that closes sends a last fetch behind the one that waits; one that begins anew names the old session."""
    rig = Rig()
    rig.rig.append(batch(), acks=1)
    rig.rig.sync()
    waiting = rig.fetch(FetchPartition(ID.partition, partition_max_bytes=1000))
    assert (waiting.said, len(rig.partition.watchers)) == (None, 1)
    rig.fetch(session_id=SESSION, epoch=epoch)
    assert waiting.said is not None
    assert rig.partition.watchers == {}
