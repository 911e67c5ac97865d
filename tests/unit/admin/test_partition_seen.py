from headrace.admin.survey import PartitionSeen, ReplicaSeen
from headrace.base.ids import TopicPartition


def seen(**fields: object) -> PartitionSeen:
    plain = {"id": TopicPartition("t", 0), "leader": 1, "replicas": (1, 2, 3), "isr": (1, 2, 3)}
    return PartitionSeen(**{**plain, **fields})


def test_replicas_that_a_move_adds_are_not_missed_before_they_have_come() -> None:
    moving = seen(replicas=(4, 2, 3, 1), adding=(4,), removing=(1,))
    assert moving.is_moving and not moving.is_under_replicated
    assert moving.targets == (4, 2, 3)
    assert seen(replicas=(4, 2, 3, 1), isr=(2, 3), adding=(4,), removing=(1,)).is_under_replicated


def test_one_that_is_missing_from_the_isr_is_missed() -> None:
    assert seen(isr=(1, 2)).is_under_replicated
    assert not seen().is_under_replicated


def test_what_has_to_be_copied_is_what_the_leader_holds() -> None:
    held = {1: ReplicaSeen(70, 0), 2: ReplicaSeen(100, 0)}
    assert seen(held=held).size_bytes == 70
    assert seen(held=held, leader=None).size_bytes == 100, "nobody leads, so the most that anyone has"
    assert seen(held=held, leader=3).size_bytes == 100, "the leader did not answer"
    assert seen().size_bytes == 0
