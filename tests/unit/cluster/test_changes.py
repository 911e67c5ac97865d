import pytest
from ledger import Ledger

from headrace.base.errors import Refused
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.changes import (
    NewTopic,
    create_partitions,
    create_topic,
    delete_topic,
    sweep_orphans,
)
from headrace.wire.codes import ErrorCode

ID = bytes(range(16))
OTHER_ID = bytes(range(16, 32))
DEFAULTS = BrokerConfig({"num.partitions": "2", "default.replication.factor": "3"})


def create(ledger: Ledger, name: str = "orders", topic_id: bytes = ID, **wanted: object) -> None:
    ledger.run(create_topic(ledger.image, ledger.live, NewTopic(name, **wanted), topic_id, DEFAULTS).commits)


def refusal(ledger: Ledger, name: str = "orders", **wanted: object) -> Refused:
    with pytest.raises(Refused) as refused:
        create_topic(ledger.image, ledger.live, NewTopic(name, **wanted), ID, DEFAULTS)
    return refused.value


def test_a_new_topic_takes_the_brokers_defaults() -> None:
    ledger = Ledger()
    create(ledger)
    topic = ledger.image.topics["orders"]
    assert (topic.id, len(topic.partitions), topic.replication_factor) == (ID, 2, 3)
    assert ledger.image.topic_by_id(ID) is topic
    for partition in topic.partitions:
        assert partition.isr == partition.replicas
        assert (partition.leader, partition.leader_epoch) == (partition.replicas[0], 0)


def test_the_reply_is_known_before_anything_is_written() -> None:
    ledger = Ledger()
    topic, commits = create_topic(ledger.image, ledger.live, NewTopic("orders", 3, 2), ID, DEFAULTS)
    ledger.run(commits)
    made = ledger.image.topics["orders"]
    assert [each._replace(revision=0) for each in made.partitions] == list(topic.partitions)


@pytest.mark.parametrize("count", [1, 97, 98, 99, 100, 196, 197, 1000])
def test_a_topic_appears_with_its_last_commit_and_leaves_with_its_first(count: int) -> None:
    ledger = Ledger(1)
    _, commits = create_topic(ledger.image, {1}, NewTopic("big", count, 1), ID, DEFAULTS)
    ledger.run(commits[:-1])
    assert "big" not in ledger.image.topics
    ledger = Ledger(1)
    ledger.run(commits)
    assert len(ledger.image.topics["big"].partitions) == count
    assert all(partition.leader == 1 for partition in ledger.image.topics["big"].partitions)
    assert not ledger.image.orphans
    before = dict(ledger.entries)
    first, *rest = delete_topic(ledger.image, "big")
    ledger.run([first])
    assert "big" not in ledger.image.topics
    ledger.run(rest)
    assert set(before) - set(ledger.entries) >= {"topics/big"}
    assert [key for key in ledger.entries if "brokers/" not in key] == []
    assert not ledger.image.orphans


def test_a_manual_assignment() -> None:
    ledger = Ledger()
    create(ledger, assignment={0: [2, 1], 1: [3, 2]})
    assert [each.replicas for each in ledger.image.topics["orders"].partitions] == [(2, 1), (3, 2)]
    assert [each.leader for each in ledger.image.topics["orders"].partitions] == [2, 3]


def test_a_dead_broker_of_a_manual_assignment_is_not_in_sync_and_does_not_lead() -> None:
    ledger = Ledger()
    _, commits = create_topic(ledger.image, {1, 3}, NewTopic("t", assignment={0: [2, 1]}), ID, DEFAULTS)
    ledger.run(commits)
    partition = ledger.image.partition("t", 0)
    assert partition is not None
    assert (partition.replicas, partition.isr, partition.leader) == ((2, 1), (1,), 1)


@pytest.mark.parametrize(
    ("wanted", "code", "words"),
    [
        ({"partitions": 0}, ErrorCode.INVALID_PARTITIONS, "at least one"),
        ({"partitions": -2}, ErrorCode.INVALID_PARTITIONS, "at least one"),
        ({"partitions": 10_001}, ErrorCode.POLICY_VIOLATION, "10000"),
        ({"replication_factor": 0}, ErrorCode.INVALID_REPLICATION_FACTOR, "at least one"),
        ({"replication_factor": 4}, ErrorCode.INVALID_REPLICATION_FACTOR, "3 of 3"),
        ({"assignment": {}}, ErrorCode.INVALID_PARTITIONS, "at least one"),
        ({"assignment": {0: []}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no replicas"),
        ({"assignment": {0: [1, 1]}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "twice"),
        ({"assignment": {0: [9]}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "not registered"),
        ({"assignment": {1: [1]}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "without a gap"),
        ({"assignment": {0: [1], 1: [1, 2]}}, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "as many replicas"),
        ({"assignment": {0: [1]}, "partitions": 1}, ErrorCode.INVALID_REQUEST, "-1"),
        ({"config": {"nope": "1"}}, ErrorCode.INVALID_CONFIG, "nope"),
        ({"config": {"segment.bytes": "1"}}, ErrorCode.INVALID_CONFIG, "1048576"),
    ],
)
def test_what_cannot_be_created(wanted: dict[str, object], code: ErrorCode, words: str) -> None:
    refused = refusal(Ledger(), **wanted)
    assert refused.code == code
    assert words in refused.message


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "../x", "ä", "x" * 250, "a\0", "a\n"])
def test_names_that_are_refused(name: str) -> None:
    assert refusal(Ledger(), name).code == ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("name", ["x" * 249, "a.b", "A-Z_0", "...", "__consumer_offsets"])
def test_names_that_are_taken(name: str) -> None:
    ledger = Ledger()
    create(ledger, name)
    assert ledger.image.topics[name].internal is name.startswith("__")


def test_names_that_exist_or_would_clash() -> None:
    ledger = Ledger()
    create(ledger, "a.b")
    assert refusal(ledger, "a.b").code == ErrorCode.TOPIC_ALREADY_EXISTS
    clash = refusal(ledger, "a_b")
    assert clash.code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert "a.b" in clash.message


def test_of_two_creations_of_one_name_one_wins_and_the_other_cleans_up() -> None:
    ledger = Ledger()
    winner = create_topic(ledger.image, ledger.live, NewTopic("t", 2, 1), ID, DEFAULTS)
    loser = create_topic(ledger.image, ledger.live, NewTopic("t", 300, 1), OTHER_ID, DEFAULTS)
    ledger.run(loser.commits[:1])
    ledger.run(winner.commits)
    with pytest.raises(AssertionError, match="conflict on topics/t"):
        ledger.run(loser.commits[1:2])
    ledger.run(sweep_orphans(ledger.image, [OTHER_ID]))
    assert not ledger.image.orphans
    assert ledger.image.topics["t"].id == ID


def test_more_partitions() -> None:
    ledger = Ledger()
    create(ledger, partitions=2)
    old = ledger.image.topics["orders"].partitions
    ledger.run(create_partitions(ledger.image, ledger.live, "orders", 250))
    new = ledger.image.topics["orders"].partitions
    assert len(new) == 250
    assert all(after is before for before, after in zip(old, new[:2], strict=True))
    assert {len(each.replicas) for each in new} == {3}
    ledger.run(create_partitions(ledger.image, ledger.live, "orders", 251, [[3, 2, 1]]))
    assert ledger.image.topics["orders"].partitions[250].replicas == (3, 2, 1)


def test_partitions_that_are_refused() -> None:
    ledger = Ledger()
    create(ledger, partitions=2)
    for name, count, assignments, code in [
        ("nope", 3, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", 2, None, ErrorCode.INVALID_PARTITIONS),
        ("orders", 1, None, ErrorCode.INVALID_PARTITIONS),
        ("orders", 20_000, None, ErrorCode.POLICY_VIOLATION),
        ("orders", 4, [[1, 2, 3]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("orders", 3, [[1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ]:
        with pytest.raises(Refused) as refused:
            create_partitions(ledger.image, ledger.live, name, count, assignments)
        assert refused.value.code == code


def test_deleting_an_unknown_topic_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        delete_topic(Ledger().image, "nope")
    assert refused.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_orphans_of_a_creation_that_died_are_swept() -> None:
    ledger = Ledger()
    _, commits = create_topic(ledger.image, ledger.live, NewTopic("t", 300, 1), ID, DEFAULTS)
    ledger.run(commits[:2])
    assert len(ledger.image.orphans[ID]) == 196
    ledger.run(sweep_orphans(ledger.image))
    assert not ledger.image.orphans
    assert sweep_orphans(ledger.image) == []


def test_a_sweep_that_was_too_early_stops_the_creation() -> None:
    ledger = Ledger()
    _, commits = create_topic(ledger.image, ledger.live, NewTopic("t", 300, 1), ID, DEFAULTS)
    ledger.run(commits[:1])
    swept = sweep_orphans(ledger.image)

    class Meanwhile(list):  # type: ignore[type-arg]
        def __iter__(self):  # type: ignore[no-untyped-def]
            yield commits[0]
            ledger.run(sweep_orphans(ledger.image))
            yield from commits[1:]

    assert swept
    with pytest.raises(AssertionError, match="conflict on partitions"):
        ledger.run(Meanwhile())
    assert "t" not in ledger.image.topics


def test_a_sweep_that_was_too_late_leaves_the_topic_alone() -> None:
    ledger = Ledger()
    _, commits = create_topic(ledger.image, ledger.live, NewTopic("t", 300, 1), ID, DEFAULTS)
    late: list = []  # type: ignore[type-arg]

    def seen_half_way():  # type: ignore[no-untyped-def]
        yield from commits[:-1]
        late.extend(sweep_orphans(ledger.image))
        yield commits[-1]

    ledger.run(seen_half_way())
    assert len(late) == 3
    with pytest.raises(AssertionError, match="conflict on partitions"):
        ledger.run(late)
    assert ledger.image == ledger.rebuilt()
    assert all(partition.leader > 0 for partition in ledger.image.topics["t"].partitions)
