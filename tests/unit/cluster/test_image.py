from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from ledger import Ledger, image_of

from headrace.base.errors import UserError
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.changes import NewTopic, create_partitions, create_topic, delete_topic, sweep_orphans
from headrace.cluster.config_changes import Edit, Operation, alter_broker_config, alter_topic_config
from headrace.cluster.entities import MISSING_PARTITION, Broker, Features, PartitionState
from headrace.cluster.image import Image, changed_topics
from headrace.cluster.records import FEATURES, TopicRecord, encode, partition_key, topic_key
from headrace.cluster.registration import found_cluster, next_producer_ids, register_broker, unregister_broker
from headrace.cluster.store import Change, Commit, Entry

DEFAULTS = BrokerConfig()
NAMES = st.sampled_from(["a", "b", "c", "d"])
ONE = PartitionState((1,), (1,), 1)


class ImageMachine(RuleBasedStateMachine):
    """Whatever happens, and wherever it stops, applying changes one by one gives what a fresh load would."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger(2)
        self.ids = count(1)

    def run(self, commits: list[Commit], stop_after: int) -> None:
        self.ledger.run(commits[:stop_after])

    @rule(name=NAMES, partitions=st.sampled_from([1, 3, 150]), stop_after=st.sampled_from([1, 9, 9]))
    def create(self, name: str, partitions: int, stop_after: int) -> None:
        if name not in self.ledger.image.topics:
            topic_id = next(self.ids).to_bytes(16, "big")
            new = NewTopic(name, partitions, 1)
            made = create_topic(self.ledger.image, self.ledger.live, new, topic_id, DEFAULTS)
            self.run(made.commits, stop_after)

    @rule(name=NAMES, stop_after=st.sampled_from([1, 9, 9]))
    def delete(self, name: str, stop_after: int) -> None:
        if name in self.ledger.image.topics:
            self.run(delete_topic(self.ledger.image, name), stop_after)

    @rule(name=NAMES, more=st.sampled_from([1, 150]), stop_after=st.sampled_from([1, 9, 9]))
    def grow(self, name: str, more: int, stop_after: int) -> None:
        topic = self.ledger.image.topics.get(name)
        if topic is not None and len(topic.partitions) < 300:
            wanted = len(topic.partitions) + more
            self.run(create_partitions(self.ledger.image, self.ledger.live, name, wanted), stop_after)

    @rule(name=NAMES, text=st.sampled_from(["1000", "2000"]))
    def alter(self, name: str, text: str) -> None:
        if name in self.ledger.image.topics:
            edits = [Edit("retention.ms", Operation.SET, text)]
            self.ledger.run([alter_topic_config(self.ledger.image, name, edits, DEFAULTS)])

    @rule(broker=st.sampled_from([None, 1, 2]), operation=st.sampled_from([Operation.SET, Operation.DELETE]))
    def alter_broker(self, broker: int | None, operation: Operation) -> None:
        edits = [Edit("num.partitions", operation, "2")]
        self.ledger.run([alter_broker_config(self.ledger.image, broker, edits, DEFAULTS)])

    @rule()
    def sweep(self) -> None:
        self.ledger.run(sweep_orphans(self.ledger.image))
        assert not self.ledger.image.orphans

    @invariant()
    def applied_is_rebuilt(self) -> None:
        assert self.ledger.image == self.ledger.rebuilt()
        counted = sum(len(topic.partitions) for topic in self.ledger.image.topics.values())
        waiting = sum(len(left) for left in self.ledger.image.orphans.values())
        assert counted + waiting == sum(key.startswith("partitions/") for key in self.ledger.entries)

    def teardown(self) -> None:
        for name in list(self.ledger.image.topics):
            self.ledger.run(delete_topic(self.ledger.image, name))
        self.ledger.run(sweep_orphans(self.ledger.image))
        assert not [key for key in self.ledger.entries if key.startswith(("topics/", "partitions/"))]


TestImage = ImageMachine.TestCase
TestImage.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)


def two_topics() -> Ledger:
    ledger = Ledger(1)
    for number, name in enumerate(["a", "b"]):
        topic_id = bytes([number]) * 16
        ledger.run(create_topic(ledger.image, {1}, NewTopic(name, 2, 1), topic_id, DEFAULTS).commits)
    return ledger


def test_a_change_shares_what_it_does_not_touch() -> None:
    ledger = two_topics()
    before = ledger.image
    state = before.topics["a"].partitions[1]._replace(leader_epoch=7)
    ledger.run([Commit({partition_key(bytes(16), 1): encode(state)}, {})])
    after = ledger.image
    assert after.topics["b"] is before.topics["b"]
    assert after.topics["a"].partitions[0] is before.topics["a"].partitions[0]
    assert after.topic_names is before.topic_names
    changed = after.partition("a", 1)
    assert changed is not None
    assert changed.leader_epoch == 7
    assert before.topics["a"].partitions[1].leader_epoch == 0
    assert list(changed_topics(before, after)) == [(before.topics["a"], after.topics["a"])]


def test_a_change_elsewhere_leaves_all_topics_as_they_are() -> None:
    ledger = two_topics()
    before = ledger.image
    ledger.run([next_producer_ids(before).commit])
    assert ledger.image.topics is before.topics
    assert list(changed_topics(before, ledger.image)) == []


def test_a_topic_made_anew_is_one_gone_and_one_new() -> None:
    ledger = two_topics()
    before = ledger.image
    ledger.run(delete_topic(ledger.image, "a"))
    ledger.run(create_topic(ledger.image, {1}, NewTopic("a", 1, 1), b"\7" * 16, DEFAULTS).commits)
    after = ledger.image
    assert list(changed_topics(before, after)) == [(before.topics["a"], None), (None, after.topics["a"])]
    assert after.topic_by_id(bytes(16)) is None


def test_look_ups_outside() -> None:
    image = two_topics().image
    assert image.partition("a", 2) is None
    assert image.partition("a", -1) is None
    assert image.partition("nope", 0) is None
    assert image.topic_by_id(b"x" * 16) is None


def test_a_partition_the_store_lost_is_offline_not_absent() -> None:
    ledger = two_topics()
    ledger.run([Commit({partition_key(bytes(16), 0): None}, {})])
    assert ledger.image.partition("a", 0) is MISSING_PARTITION
    assert ledger.image == ledger.rebuilt()


def test_keys_of_newer_code_are_passed_over() -> None:
    entries = {"links/7": Entry(b"?", 1), "config/groups/g": Entry(b"?", 1), "cluster": Entry(b'{"v":1,"id":"x"}', 1)}
    assert image_of(entries, 1).cluster_id == "x"


@pytest.mark.parametrize(
    ("key", "value", "cause"),
    [
        ("topics/a", b'{"v":2}', "another version"),
        ("topics/a", b'{"v":1}', "damaged"),
        ("topics/a", b"", "damaged"),
        ("topics/a", b"[]", "damaged"),
        ("brokers/x", b'{"v":1,"id":1,"epoch":1,"host":"h","port":1}', "damaged"),
        ("partitions/x/0", encode(ONE), "damaged"),
        ("partitions/0", encode(ONE), "damaged"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_fix(key: str, value: bytes, cause: str) -> None:
    with pytest.raises(UserError, match=cause) as refused:
        image_of({key: Entry(value, 1)}, 1)
    assert key in refused.value.cause
    assert refused.value.fix


def test_every_record_begins_with_its_format_version_and_survives_a_round_trip() -> None:
    ledger = Ledger(1)
    broker = Broker(2, 0, "h", 1, "rack", 9464, "boot", "dir")
    moving = PartitionState((1, 2), (1,), 1, 5, 6, (2,), (3,), (4,), (1,))
    ledger.run([register_broker(ledger.image, broker).commit, found_cluster("id")])
    ledger.run([Commit({partition_key(bytes(16), 0): encode(moving)}, {})])
    ledger.run([Commit({topic_key("t"): encode(TopicRecord(bytes(16), 1, {"retention.ms": "5"}))}, {})])
    ledger.run([Commit({FEATURES: encode(Features({"group.version": 1}))}, {})])
    assert all(entry.value.startswith(b'{"v":1,') for entry in ledger.entries.values())
    image = ledger.image
    stored = image.brokers[2]
    assert stored._replace(epoch=0, revision=0) == broker
    partition = image.partition("t", 0)
    assert partition is not None
    assert partition._replace(revision=0) == moving
    assert image.features.levels == {"group.version": 1}
    assert image.topics["t"].config == {"retention.ms": "5"}


def test_a_field_of_newer_code_is_passed_over() -> None:
    value = b'{"v":1,"id":1,"epoch":1,"host":"h","port":1,"revision":9,"zone":"z"}'
    assert image_of({"brokers/1": Entry(value, 3)}, 3).brokers[1] == Broker(1, 1, "h", 1, revision=3)


def test_an_empty_store_has_no_cluster() -> None:
    with pytest.raises(UserError, match="no cluster"):
        _ = Image().cluster_id


def test_unregistering() -> None:
    ledger = Ledger(2)
    ledger.run([unregister_broker(ledger.image, 2)])
    assert list(ledger.image.brokers) == [1]
    assert ledger.image.apply([Change("brokers/9", None, 9)], 9).brokers == ledger.image.brokers
