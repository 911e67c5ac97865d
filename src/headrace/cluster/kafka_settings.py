"""Settings of Kafka's brokers that Headrace does not have, each with what takes its place.

The nearest name would mislead whoever brings a server.properties: `listeners` is no misspelt `log.retention.ms`.
"""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Final

from headrace.base.settings import UnknownSetting
from headrace.cluster.broker_settings import BROKER_SETTINGS
from headrace.cluster.listener_settings import PREFIX

_ID = "it is id under [serve], or serve --id; up numbers its brokers from 1 on"
_LISTEN = "these are listeners, or host and port under [serve], or serve --host and --port; of up port under [up]"
_ADVERTISE = "it is advertised.listeners, or advertised-host under [serve], or serve --advertised-host"
_DATA = "it is data under [serve] or [up], or --data: one directory for each broker below it"
_METADATA = "leave it out: metadata is where store under [serve], or serve --store, says"
_ROLES = "leave it out: every broker may control the cluster"
_ONE_LISTENER = "leave it out: every listener opens when the broker knows its rules and users"
_ONE_LOOP = "leave it out: a broker has one event loop; more cores means more brokers"
_SECURITY = "leave it out: docs/configuration.md lists the settings of TLS, authentication and ACLs that there are"
_TOKEN_SECRET = "leave it out: the brokers make the secret of tokens themselves, and share it in the metadata store"
_PEM = "leave it out: keys and certificates are PEM files, and ssl.key.password is for an encrypted key"
_TIERS = "leave it out: tiered storage is not there yet (README.md)"
_SHARE = "leave it out: share groups are not there yet (README.md)"
_STREAMS = "leave it out: groups of the streams protocol are not served (docs/compatibility.md)"
_QUOTAS = "leave it out: quotas are not there yet (README.md)"
_METRICS = "leave it out: every broker serves /metrics at metrics-port under [serve] (docs/monitoring.md)"
_NEAREST = "leave it out: consumers that say client.rack read from the nearest replica (docs/operations.md)"
_NOTHING = "leave it out: there is nothing here that it would set (docs/configuration.md lists what there is)"

# A name that ends with a dot stands for all that begin with it.
_FIXES: Final[Mapping[str, tuple[str, ...]]] = {
    _ID: ("broker.id", "node.id", "broker.id.generation.enable", "reserved.broker.max.id"),
    _LISTEN: ("host.name", "port"),
    _ADVERTISE: ("advertised.host.name", "advertised.port"),
    _DATA: ("log.dir", "log.dirs"),
    _METADATA: ("controller.quorum.", "zookeeper.", "metadata.log.", "metadata.max."),
    _ROLES: ("process.roles", "controller.listener.names"),
    _ONE_LISTENER: (
        "control.plane.listener.name",
        "early.start.listeners",
    ),
    _ONE_LOOP: (
        "background.threads",
        "group.coordinator.background.threads",
        "group.coordinator.threads",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.alter.log.dirs.threads",
        "num.replica.fetchers",
        "queued.max.requests",
    ),
    _SECURITY: (
        "principal.builder.class",
        "security.",
        "sasl.",
        "ssl.",
    ),
    _TOKEN_SECRET: ("delegation.token.master.key", "delegation.token.secret.key"),
    _PEM: (
        "ssl.key.file",
        "ssl.keymanager.algorithm",
        "ssl.keystore.password",
        "ssl.trustmanager.algorithm",
        "ssl.truststore.password",
    ),
    _TIERS: ("follower.fetch.last.tiered.offset.enable", "remote."),
    _SHARE: ("group.share.", "share."),
    _STREAMS: ("group.streams.",),
    _QUOTAS: (
        "alter.log.dirs.replication.quota.",
        "client.quota.callback.class",
        "controller.quota.",
        "quota.",
        "replication.quota.",
    ),
    _METRICS: ("auto.include.jmx.reporter", "kafka.metrics.", "metric.reporters", "metrics.", "telemetry.max.bytes"),
    _NEAREST: ("replica.selector.class",),
    _NOTHING: (
        "add.partitions.to.txn.retry.backoff.max.ms",
        "add.partitions.to.txn.retry.backoff.ms",
        "alter.config.policy.class.name",
        "config.providers",
        "controller.socket.timeout.ms",
        "cordoned.log.dirs",
        "create.topic.policy.class.name",
        "delete.records.purgatory.purge.interval.requests",
        "fetch.purgatory.purge.interval.requests",
        "group.consumer.max.assignment.interval.ms",
        "group.consumer.min.assignment.interval.ms",
        "group.coordinator.append.linger.ms",
        "group.coordinator.cached.buffer.max.bytes",
        "group.coordinator.new.enable",
        "group.coordinator.rebalance.protocols",
        "initial.broker.registration.timeout.ms",
        "inter.broker.protocol.version",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.buffer.size",
        "log.dir.failure.timeout.ms",
        "log.flush.scheduler.interval.ms",
        "log.flush.start.offset.checkpoint.interval.ms",
        "log.message.format.version",
        "max.request.partition.size.limit",
        "offsets.load.buffer.size",
        "offsets.topic.compression.codec",
        "producer.purgatory.purge.interval.requests",
        "replica.alter.log.dirs.io.max.bytes.per.second",
        "replica.socket.receive.buffer.bytes",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
        "transaction.state.log.load.buffer.size",
        "transaction.two.phase.commit.enable",
    ),
}
FIX_OF: Final[Mapping[str, str]] = {name: fix for fix, names in _FIXES.items() for name in names}
_FAMILIES: Final = tuple(name for name in FIX_OF if name.endswith("."))


def unknown_broker_setting(name: str) -> UnknownSetting:
    """The error for a name that is no broker setting: with its place here if Kafka has it, else with the nearest name."""
    known: Collection[str] = BROKER_SETTINGS
    if name.startswith(PREFIX):
        listener = name.removeprefix(PREFIX).partition(".")[0]
        known = [f"{PREFIX}{listener}.{each}" for each, setting in BROKER_SETTINGS.items() if setting.per_listener]
    family = next((each for each in _FAMILIES if name.startswith(each)), name)
    return UnknownSetting(name, known, FIX_OF.get(name) or _near_miss(name) or FIX_OF.get(family, ""))


def _near_miss(name: str) -> str:
    """The setting of ours that a name in a family of Kafka's was meant to be."""
    near = get_close_matches(name, BROKER_SETTINGS, n=1, cutoff=0.9)
    return f"Did you mean {near[0]}?" if near else ""
