"""What a change of its committed state makes of a partition: whether it leads, and what those are told who wait."""

from batches import NOW, batch
from headrace.cluster.entities import PartitionState
from headrace.wire.codes import ErrorCode
from partition_rig import PartitionRig

LED = PartitionState((1, 2, 3), (1, 2), 1, 5)


class Waiter:
    def __init__(self) -> None:
        self.told: list[object] = []

    def is_waiting(self, part: object) -> bool:
        return True

    def on_reached(self, part: object) -> None:
        self.told.append("reached")

    def on_lost(self, part: object, code: int) -> None:
        self.told.append(code)


def test_nobody_leads_below_an_epoch_of_its_own_log() -> None:
    """The metadata were restored from an older copy: recovery would take what it writes for a lost history."""
    rig = PartitionRig(LED, min_insync_replicas=1)
    rig.append(batch(b"a"), acks=1)
    rig.partition.on_state(LED._replace(leader_epoch=4), NOW)
    assert not rig.partition.is_leader
    rig.partition.on_state(LED._replace(leader_epoch=6), NOW)
    assert rig.partition.is_leader


def test_whoever_waits_is_told_when_too_few_are_left_in_sync() -> None:
    rig = PartitionRig(LED, min_insync_replicas=2)
    waiter = Waiter()
    rig.partition.wait(rig.append(batch(b"a")).end_offset, -1, waiter, None)
    rig.partition.on_state(LED._replace(isr=(1,), partition_epoch=1), NOW)
    rig.carry_out()
    assert waiter.told == [ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND]
