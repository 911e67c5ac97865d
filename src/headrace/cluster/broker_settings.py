"""Every setting of a broker, by Kafka's names: what `headrace up --set NAME=VALUE` and DescribeConfigs know.

The defaults of topics (`log.segment.bytes` and its like) are declared with the topic settings they stand for. Where a
default of ours differs from Kafka's, its meaning says why.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from headrace.base.settings import INT_MAX, LONG_MAX, Kind, Setting, Value
from headrace.cluster.authorizer_settings import AUTHORIZER_SETTINGS
from headrace.cluster.listener_settings import LISTENER_SETTINGS, PREFIX, unprefixed
from headrace.cluster.sasl_settings import SASL_SETTINGS
from headrace.cluster.token_settings import TOKEN_SETTINGS
from headrace.cluster.topic_settings import DAY_MS, HOUR_MS, MIB, MINUTE_MS, TOPIC_SETTINGS, Synonym, TopicSetting


def _int(name: str, default: int, doc: str, low: int = 1, high: int | None = None, dynamic: bool = False) -> Setting:
    return Setting(name, Kind.INT, default, doc, low, high, dynamic=dynamic)


def _long(name: str, default: int, doc: str, low: int = 1, dynamic: bool = False) -> Setting:
    return Setting(name, Kind.LONG, default, doc, low, dynamic=dynamic)


def _flag(name: str, default: bool, doc: str, dynamic: bool = False) -> Setting:
    return Setting(name, Kind.BOOLEAN, default, doc, dynamic=dynamic)


_BROKER: Final = (
    Setting("broker.rack", Kind.STRING, None, "The rack or zone of this broker; replicas are spread over racks first."),
    _int(
        "broker.session.timeout.ms",
        2_000,
        "How long a broker that stopped renewing its lease counts as alive: clients must see a gap under 3 s.",
        low=100,
    ),
    _int(
        "broker.heartbeat.interval.ms",
        500,
        "How often a broker renews its lease: four times in a session, or more often.",
        low=10,
    ),
    _int(
        "log.disk.hang.timeout.ms",
        2_000,
        "A broker whose disk completes nothing for this long, not even a small file, gives its lease back, so that "
        "others lead, where enough others are there, and joins again when the disk answers: after repeated hangs later "
        "each time, up to 16 s. 0 waits for the disk for ever.",
        low=0,
    ),
    Setting(
        "otel.endpoint",
        Kind.STRING,
        None,
        "URL of an OpenTelemetry collector that gets a span for each request of a client; without one there are none.",
    ),
    Setting("otel.sample.ratio", Kind.DOUBLE, 1.0, "The share of requests that have one.", 0.0, 1.0),
    _flag(
        "connections.close.on.hung.broker",
        True,
        "When another broker hangs, so that nothing resets its clients' connections, close those of librdkafka here "
        "once they are answered: it then asks for metadata, and turns to the new leaders instead of waiting a minute.",
        dynamic=True,
    ),
    _flag("controlled.shutdown.enable", True, "Move leaders away before a broker stops."),
    _flag("auto.leader.rebalance.enable", True, "Give leadership back to the preferred replica once it is in sync."),
    _long("leader.imbalance.check.interval.seconds", 300, "How often the balance of leaders is checked."),
)

_TOPICS: Final = (
    _int("num.partitions", 1, "Partitions of a topic that is created without saying how many.", dynamic=True),
    _int(
        "default.replication.factor",
        1,
        "Replicas of a topic that is created without saying how many. `headrace up` sets 3, or fewer on fewer brokers.",
        high=32_767,
        dynamic=True,
    ),
    _flag("auto.create.topics.enable", True, "Create a topic when a client first asks for it.", dynamic=True),
    _flag("delete.topic.enable", True, "Whether topics can be deleted.", dynamic=True),
)

_CONNECTIONS: Final = (
    _int("socket.request.max.bytes", 100 * MIB, "The largest request; a larger one closes its connection."),
    _int("socket.listen.backlog.size", 1_024, "Connections the kernel holds until the broker accepts them."),
    _int("socket.send.buffer.bytes", -1, "Send buffer of a connection; -1 leaves it to the kernel.", low=-1),
    _int("socket.receive.buffer.bytes", -1, "Receive buffer of a connection; -1 leaves it to the kernel.", low=-1),
    _long("connections.max.idle.ms", 10 * MINUTE_MS, "A connection silent for this long is closed.", dynamic=True),
    _long(
        "queued.max.request.bytes",
        128 * MIB,
        "Bytes of requests in work and replies not yet sent, over all connections; beyond it the broker stops reading.",
        low=MIB,
    ),
    _int("request.timeout.ms", 30_000, "Accepted for compatibility: brokers wait for each other for a few seconds."),
    _int("fetch.max.bytes", 55 * MIB, "The most bytes one fetch is answered with.", low=1_024, dynamic=True),
    _int(
        "max.incremental.fetch.session.cache.slots",
        1_000,
        "Fetch sessions kept at a time; clients beyond them send whole fetches.",
        low=0,
    ),
)

_REPLICATION: Final = (
    _int(
        "replica.stall.time.max.ms",
        2_000,
        "An in-sync follower that acks wait for and that has not moved at all for this long leaves the in-sync set, as "
        "long as min.insync.replicas and a majority of the replicas stay in it. 0 leaves that to replica.lag.time.max.ms.",
        low=0,
        dynamic=True,
    ),
    _long(
        "replica.lag.time.max.ms",
        30_000,
        "A follower that has not caught up for this long leaves the in-sync set.",
        dynamic=True,
    ),
    _int("replica.fetch.max.bytes", MIB, "Bytes of one partition a follower asks for at a time.", low=0),
    _int("replica.fetch.response.max.bytes", 10 * MIB, "Bytes of all partitions a follower asks for at a time.", low=0),
    _int("replica.fetch.min.bytes", 1, "Bytes a follower's fetch waits for."),
    _int("replica.fetch.wait.max.ms", 500, "How long a follower's fetch waits for them."),
    _int("replica.fetch.backoff.ms", 1_000, "Accepted for compatibility: a follower tries again at once.", low=0),
    _int("replica.socket.timeout.ms", 30_000, "How long a follower waits for its leader's reply."),
    _long(
        "replica.high.watermark.checkpoint.interval.ms",
        5_000,
        "Accepted for compatibility: high watermarks that moved are written down every five seconds.",
    ),
    _long(
        "leader.replication.throttled.rate",
        LONG_MAX,
        "Accepted for Kafka's tools, and without effect: the follower's rate is what counts.",
        dynamic=True,
    ),
    _long(
        "follower.replication.throttled.rate",
        LONG_MAX,
        "Bytes a second this broker copies to throttled replicas that are not in sync yet.",
        dynamic=True,
    ),
)

_LOG: Final = (
    _long("log.retention.check.interval.ms", 5 * MINUTE_MS, "How often old segments are looked for."),
    _int(
        "log.flush.offset.checkpoint.interval.ms",
        MINUTE_MS,
        "Accepted for compatibility: recovery points that moved are written down every five seconds.",
        low=0,
    ),
    _int("producer.id.expiration.ms", DAY_MS, "How long a silent idempotent producer is remembered.", dynamic=True),
    _int(
        "max.producer.ids.per.partition",
        20_000,
        "How many idempotent producers a partition remembers. One more, and the one that has not written for longest is "
        "forgotten, unless its transaction is open: a resend of its last batches would then be written twice.",
        low=100,
    ),
    _flag("log.cleaner.enable", True, "Whether compaction runs."),
    _int("log.cleaner.threads", 1, "Compactions at a time.", low=0, dynamic=True),
    _long("log.cleaner.backoff.ms", 15_000, "Pause of the cleaner when nothing is dirty.", low=0, dynamic=True),
    _long(
        "log.cleaner.dedupe.buffer.size",
        128 * MIB,
        "Memory of the map of keys that one compaction may use.",
        low=MIB,
        dynamic=True,
    ),
    Setting(
        "log.cleaner.io.max.bytes.per.second",
        Kind.DOUBLE,
        1.7976931348623157e308,
        "Bytes a second compaction may read and write.",
        low=1,
        dynamic=True,
    ),
)

_GROUPS: Final = (
    _int("group.min.session.timeout.ms", 6_000, "The shortest session a member may ask for."),
    _int("group.max.session.timeout.ms", 30 * MINUTE_MS, "The longest session a member may ask for."),
    _int("group.initial.rebalance.delay.ms", 3_000, "How long an empty group waits for more members.", low=0),
    _int("group.max.size", INT_MAX, "The most members of a classic group."),
    Setting(
        "group.consumer.assignors",
        Kind.LIST,
        ("uniform", "range"),
        "Assignors of next-generation groups; the first is the default.",
        choices=("uniform", "range"),
    ),
    _int("group.consumer.session.timeout.ms", 45_000, "Session of a next-generation member."),
    _int(
        "group.consumer.min.session.timeout.ms",
        45_000,
        "Accepted for compatibility: groups have no settings of their own.",
    ),
    _int(
        "group.consumer.max.session.timeout.ms",
        60_000,
        "Accepted for compatibility: groups have no settings of their own.",
    ),
    _int("group.consumer.heartbeat.interval.ms", 5_000, "How often a next-generation member must report."),
    _int(
        "group.consumer.min.heartbeat.interval.ms",
        5_000,
        "Accepted for compatibility: groups have no settings of their own.",
    ),
    _int(
        "group.consumer.max.heartbeat.interval.ms",
        15_000,
        "Accepted for compatibility: groups have no settings of their own.",
    ),
    _int("group.consumer.assignment.interval.ms", 1_000, "The least time between two assignments of a group.", low=0),
    _int("group.consumer.max.size", INT_MAX, "The most members of a next-generation group."),
    Setting(
        "group.consumer.migration.policy",
        Kind.STRING,
        "bidirectional",
        "Which way a group may change between the classic and the next-generation protocol while it lives.",
        choices=("disabled", "downgrade", "upgrade", "bidirectional"),
    ),
    _int("offset.metadata.max.bytes", 4_096, "The most bytes of text a committed offset may carry."),
    _int("offsets.commit.timeout.ms", 5_000, "Accepted for compatibility: a commit is answered when it is durable."),
    _int("offsets.retention.minutes", 7 * 24 * 60, "How long the offsets of an empty group are kept."),
    _long("offsets.retention.check.interval.ms", 10 * MINUTE_MS, "How often expired offsets are looked for."),
    _int("offsets.topic.num.partitions", 50, "Partitions of the offsets topic; fixed once it exists."),
    _int("offsets.topic.replication.factor", 3, "Replicas of the offsets topic, or as many as there are brokers."),
    _int("offsets.topic.segment.bytes", 100 * MIB, "Segment size of the offsets topic."),
)

_TRANSACTIONS: Final = (
    _int("transaction.max.timeout.ms", 15 * MINUTE_MS, "The longest timeout a transaction may ask for."),
    _int("transactional.id.expiration.ms", 7 * DAY_MS, "How long an idle transactional id is remembered."),
    _flag(
        "transaction.partition.verification.enable",
        True,
        "Ask the coordinator whether a transaction knows a partition before its first write there.",
        dynamic=True,
    ),
    _int(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        10_000,
        "Accepted for compatibility: each transaction has a timer of its own.",
    ),
    _int(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        HOUR_MS,
        "Accepted for compatibility: each transactional id has a timer of its own.",
    ),
    _int("transaction.state.log.num.partitions", 50, "Partitions of the transaction topic; fixed once it exists."),
    _int("transaction.state.log.replication.factor", 3, "Replicas of it, or as many as there are brokers."),
    _int("transaction.state.log.min.isr", 2, "In-sync replicas its writes need, never more than it has."),
    _int("transaction.state.log.segment.bytes", 100 * MIB, "Segment size of the transaction topic."),
)


def _topic_defaults() -> Iterator[Setting]:
    for topic_setting in TOPIC_SETTINGS.values():
        for synonym in topic_setting.synonyms:
            yield _topic_default(topic_setting, synonym)


def _topic_default(topic_setting: TopicSetting, synonym: Synonym) -> Setting:
    setting = topic_setting.setting
    if synonym.scale == 1:
        doc = setting.doc if synonym.name == setting.name else f"The `{setting.name}` of topics that do not set it."
        return setting._replace(name=synonym.name, doc=doc)
    unit = synonym.name.rpartition(".")[2]
    doc = f"The same in {unit}; `{topic_setting.synonyms[0].name}` comes first when both are set."
    default: Value = None
    return setting._replace(name=synonym.name, kind=Kind.INT, default=default, doc=doc)


BROKER_SETTINGS: Final[Mapping[str, Setting]] = {
    setting.name: setting
    for group in (
        _BROKER,
        _TOPICS,
        _CONNECTIONS,
        LISTENER_SETTINGS,
        SASL_SETTINGS,
        AUTHORIZER_SETTINGS,
        TOKEN_SETTINGS,
        _REPLICATION,
        _LOG,
        _GROUPS,
        _TRANSACTIONS,
        tuple(_topic_defaults()),
    )
    for setting in group
}


@lru_cache(maxsize=1024)
def broker_setting(name: str) -> Setting | None:
    """The declaration of a setting, of one listener's too; None for a name that is none."""
    if not name.startswith(PREFIX):
        return BROKER_SETTINGS.get(name)
    declared = BROKER_SETTINGS.get(unprefixed(name))
    return declared._replace(name=name) if declared is not None and declared.per_listener else None


def settings_for(brokers: int) -> dict[str, str]:
    """The settings that a cluster of this size starts with: from three brokers on, three replicas, two to have each
    write."""
    return {
        "default.replication.factor": str(max(1, min(3, brokers))),
        "min.insync.replicas": "2" if brokers >= 3 else "1",
    }
