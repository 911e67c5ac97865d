"""Every setting a topic can have, with the broker settings that give it its default when the topic says nothing.

A declaration here is also the declaration of its broker-level synonyms (`log.segment.bytes` for `segment.bytes`): the
kind, bounds, default and meaning are the same, so they are written once.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from headrace.base.settings import LONG_MAX, Kind, Setting, Value

SECOND_MS: Final = 1_000
MINUTE_MS: Final = 60 * SECOND_MS
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS
MIB: Final = 1024 * 1024


class Synonym(NamedTuple):
    """A broker setting that means the same; its number times `scale` is the topic's."""

    name: str
    scale: int = 1


class TopicSetting(NamedTuple):
    setting: Setting
    synonyms: tuple[Synonym, ...] = ()


def _declare(
    name: str,
    kind: Kind,
    default: Value,
    doc: str,
    synonyms: str = "",
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    also: tuple[int, ...] = (),
    words: str = "",
) -> TopicSetting:
    setting = Setting(name, kind, default, doc, low, high, choices, also, words, dynamic=True)
    return TopicSetting(setting, tuple(Synonym(each, _scale(each)) for each in synonyms.split()))


def _scale(name: str) -> int:
    if name.endswith(".hours"):
        return HOUR_MS
    return MINUTE_MS if name.endswith(".minutes") else 1


_WITH_TIERING: Final = " Takes effect with tiered storage."

_DECLARED: Final = (
    _declare(
        "cleanup.policy",
        Kind.LIST,
        ("delete",),
        "What happens to old data: `delete` drops whole segments past the retention, `compact` keeps the newest record "
        "of every key. Both together compact and then drop; empty keeps everything.",
        "log.cleanup.policy",
        choices=("compact", "delete"),
    ),
    _declare(
        "compression.type",
        Kind.STRING,
        "producer",
        "The codec batches are stored with. `producer` stores them as they came, which costs the broker nothing.",
        "compression.type",
        choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    ),
    _declare(
        "compression.gzip.level",
        Kind.INT,
        -1,
        "Effort of gzip when the broker compresses; -1 is the codec's own default.",
        "compression.gzip.level",
        low=1,
        high=9,
        also=(-1,),
    ),
    _declare(
        "compression.lz4.level",
        Kind.INT,
        9,
        "Effort of lz4 when the broker compresses.",
        "compression.lz4.level",
        low=1,
        high=17,
    ),
    _declare(
        "compression.zstd.level",
        Kind.INT,
        3,
        "Effort of zstd when the broker compresses.",
        "compression.zstd.level",
        low=-131_072,
        high=22,
    ),
    _declare(
        "delete.retention.ms",
        Kind.LONG,
        DAY_MS,
        "How long a compacted topic keeps a tombstone, so that a reader that started earlier still sees the deletion.",
        "log.cleaner.delete.retention.ms",
        low=0,
    ),
    _declare(
        "file.delete.delay.ms",
        Kind.LONG,
        MINUTE_MS,
        "Accepted for compatibility: files of a retired segment go within seconds, and who has one open reads on.",
        "log.segment.delete.delay.ms",
        low=0,
    ),
    _declare(
        "flush.messages",
        Kind.LONG,
        1,
        "Sync to disk once this many records are waiting. 1, our default, is durable: no record is acknowledged before "
        "it is on disk (many waiting records share one sync). A larger number trades that for speed.",
        "log.flush.interval.messages",
        low=1,
    ),
    _declare(
        "flush.ms",
        Kind.LONG,
        LONG_MAX,
        "Sync to disk at least this often while records are waiting, on topics that relax `flush.messages`.",
        "log.flush.interval.ms",
        low=0,
    ),
    _declare(
        "follower.replication.throttled.replicas",
        Kind.LIST,
        (),
        "Replicas whose copying is throttled at the follower, as partition:broker pairs, or `*` for all.",
        words=r"\*|[0-9]+:[0-9]+",
    ),
    _declare(
        "leader.replication.throttled.replicas",
        Kind.LIST,
        (),
        "Accepted for Kafka's tools, and without effect: the follower's list is what counts.",
        words=r"\*|[0-9]+:[0-9]+",
    ),
    _declare(
        "headrace.restoring",
        Kind.STRING,
        "",
        "The backup that `headrace backup restore` is filling this topic from; it takes the setting away when it is done. "
        "Meanwhile batches may leave out offsets and keep the times that another broker gave them.",
    ),
    _declare(
        "index.interval.bytes",
        Kind.INT,
        4096,
        "Bytes of log between two entries of the offset index: fewer find an offset sooner and take more memory.",
        "log.index.interval.bytes",
        low=0,
    ),
    _declare(
        "local.retention.bytes",
        Kind.LONG,
        -2,
        "Bytes kept on local disk once older segments are in object storage; -2 means the same as `retention.bytes`."
        + _WITH_TIERING,
        "log.local.retention.bytes",
        low=-2,
    ),
    _declare(
        "local.retention.ms",
        Kind.LONG,
        -2,
        "Age kept on local disk once older segments are in object storage; -2 means the same as `retention.ms`."
        + _WITH_TIERING,
        "log.local.retention.ms",
        low=-2,
    ),
    _declare(
        "max.compaction.lag.ms",
        Kind.LONG,
        LONG_MAX,
        "The longest a record waits for compaction, however little of the log is dirty.",
        "log.cleaner.max.compaction.lag.ms",
        low=1,
    ),
    _declare(
        "max.message.bytes",
        Kind.INT,
        1_048_588,
        "The largest record batch accepted, as it is on the wire (compressed, if the producer compresses).",
        "message.max.bytes",
        low=0,
    ),
    _declare(
        "message.timestamp.type",
        Kind.STRING,
        "CreateTime",
        "Whose clock stamps a record: the producer's (`CreateTime`) or the broker's (`LogAppendTime`).",
        "log.message.timestamp.type",
        choices=("CreateTime", "LogAppendTime"),
    ),
    _declare(
        "message.timestamp.before.max.ms",
        Kind.LONG,
        LONG_MAX,
        "How far a producer's timestamp may lie behind the broker's clock before the batch is refused.",
        "log.message.timestamp.before.max.ms",
        low=0,
    ),
    _declare(
        "message.timestamp.after.max.ms",
        Kind.LONG,
        HOUR_MS,
        "How far a producer's timestamp may lie ahead of the broker's clock before the batch is refused.",
        "log.message.timestamp.after.max.ms",
        low=0,
    ),
    _declare(
        "min.cleanable.dirty.ratio",
        Kind.DOUBLE,
        0.5,
        "The share of a compacted log that must be dirty before it is compacted again.",
        "log.cleaner.min.cleanable.ratio",
        low=0,
        high=1,
    ),
    _declare(
        "min.compaction.lag.ms",
        Kind.LONG,
        0,
        "How long a record is left alone before compaction may remove it.",
        "log.cleaner.min.compaction.lag.ms",
        low=0,
    ),
    _declare(
        "min.insync.replicas",
        Kind.INT,
        1,
        "How many in-sync replicas a write with acks=all needs; with fewer it is refused. Never asks for more than the "
        "topic has replicas. `headrace up` sets 2 from three brokers on.",
        "min.insync.replicas",
        low=1,
    ),
    _declare(
        "preallocate",
        Kind.BOOLEAN,
        False,
        "Accepted for compatibility; has no effect.",
        "log.preallocate",
    ),
    _declare(
        "remote.storage.enable",
        Kind.BOOLEAN,
        False,
        "Whether sealed segments move to object storage. Not available yet, so only false is accepted.",
        choices=("false",),
    ),
    _declare(
        "remote.log.copy.disable",
        Kind.BOOLEAN,
        False,
        "Stop copying to object storage, and keep serving what is there." + _WITH_TIERING,
    ),
    _declare(
        "remote.log.delete.on.disable",
        Kind.BOOLEAN,
        False,
        "Delete what is in object storage when it is switched off for the topic." + _WITH_TIERING,
    ),
    _declare(
        "retention.bytes",
        Kind.LONG,
        -1,
        "Bytes each partition keeps before its oldest segments are deleted; -1 sets no limit.",
        "log.retention.bytes",
        low=-1,
    ),
    _declare(
        "retention.ms",
        Kind.LONG,
        7 * DAY_MS,
        "How long records are kept before their segment is deleted; -1 keeps them for ever.",
        "log.retention.ms log.retention.minutes log.retention.hours",
        low=-1,
    ),
    _declare(
        "segment.bytes",
        Kind.INT,
        1024 * MIB,
        "Size at which a segment file is closed and the next one begun. Retention works on whole segments.",
        "log.segment.bytes",
        low=MIB,
    ),
    _declare(
        "segment.index.bytes",
        Kind.INT,
        10 * MIB,
        "Size of an index at which its segment is closed, full or not.",
        "log.index.size.max.bytes",
        low=4,
    ),
    _declare(
        "segment.jitter.ms",
        Kind.LONG,
        0,
        "Spread of `segment.ms`, so that many segments do not roll at the same moment.",
        "log.roll.jitter.ms log.roll.jitter.hours",
        low=0,
    ),
    _declare(
        "segment.ms",
        Kind.LONG,
        7 * DAY_MS,
        "Age at which a segment is closed although it is not full.",
        "log.roll.ms log.roll.hours",
        low=1,
    ),
    _declare(
        "unclean.leader.election.enable",
        Kind.BOOLEAN,
        False,
        "Whether a replica that is not in sync may lead when no other is left: the partition is available again, and "
        "acknowledged records may be lost.",
        "unclean.leader.election.enable",
    ),
)

TOPIC_SETTINGS: Final[Mapping[str, TopicSetting]] = {each.setting.name: each for each in _DECLARED}
