"""The names that a file of client settings may have: librdkafka's own, and the Java client's for identity and trust.

A name that is not here is refused where the file is read: a misspelt `security.protocol` would mean a plain connection.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

# The environment variable that names such a file.
VARIABLE: Final = "HEADRACE_CONFIG"

# Java's spelling of identity and trust, with PEM files; `client.properties` turns it into librdkafka's.
JAVA_NAMES = frozenset(
    {
        "sasl.jaas.config", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.type",
        "ssl.truststore.certificates", "ssl.truststore.location", "ssl.truststore.type",
    }
)  # fmt: skip
LIBRDKAFKA_NAMES = frozenset(
    {
        "acks", "allow.auto.create.topics", "api.version.fallback.ms", "api.version.request",
        "api.version.request.timeout.ms", "auto.commit.enable", "auto.commit.interval.ms", "auto.offset.reset",
        "batch.num.messages", "batch.size", "bootstrap.servers", "broker.address.family", "broker.address.ttl",
        "broker.version.fallback", "builtin.features", "check.crcs", "client.dns.lookup", "client.id", "client.rack",
        "compression.codec", "compression.level", "compression.type", "connections.max.idle.ms",
        "consume.callback.max.messages", "coordinator.query.interval.ms", "debug", "delivery.report.only.error",
        "delivery.timeout.ms", "enable.auto.commit", "enable.auto.offset.store", "enable.gapless.guarantee",
        "enable.idempotence", "enable.metrics.push", "enable.partition.eof", "enable.random.seed",
        "enable.sasl.oauthbearer.unsecure.jwt", "enable.ssl.certificate.verification", "enabled_events",
        "fetch.error.backoff.ms", "fetch.max.bytes", "fetch.message.max.bytes", "fetch.min.bytes",
        "fetch.queue.backoff.ms", "fetch.wait.max.ms", "group.id", "group.instance.id", "group.protocol",
        "group.protocol.type", "group.remote.assignor", "heartbeat.interval.ms", "https.ca.location", "https.ca.pem",
        "internal.termination.signal", "isolation.level", "linger.ms", "log.connection.close", "log.queue",
        "log.thread.name", "log_level", "max.in.flight", "max.in.flight.requests.per.connection",
        "max.partition.fetch.bytes", "max.poll.interval.ms", "message.copy.max.bytes", "message.max.bytes",
        "message.send.max.retries", "message.timeout.ms", "metadata.broker.list", "metadata.max.age.ms",
        "metadata.recovery.rebootstrap.trigger.ms", "metadata.recovery.strategy", "offset.store.method",
        "offset.store.path", "offset.store.sync.interval.ms", "partition.assignment.strategy", "partitioner",
        "plugin.library.paths", "produce.offset.report", "queue.buffering.backpressure.threshold",
        "queue.buffering.max.kbytes", "queue.buffering.max.messages", "queue.buffering.max.ms",
        "queued.max.messages.kbytes", "queued.min.messages", "queuing.strategy", "receive.message.max.bytes",
        "reconnect.backoff.jitter.ms", "reconnect.backoff.max.ms", "reconnect.backoff.ms", "request.required.acks",
        "request.timeout.ms", "retries", "retry.backoff.max.ms", "retry.backoff.ms", "sasl.kerberos.keytab",
        "sasl.kerberos.kinit.cmd", "sasl.kerberos.min.time.before.relogin", "sasl.kerberos.principal",
        "sasl.kerberos.service.name", "sasl.mechanism", "sasl.mechanisms", "sasl.oauthbearer.assertion.algorithm",
        "sasl.oauthbearer.assertion.claim.aud", "sasl.oauthbearer.assertion.claim.exp.seconds",
        "sasl.oauthbearer.assertion.claim.iss", "sasl.oauthbearer.assertion.claim.jti.include",
        "sasl.oauthbearer.assertion.claim.nbf.seconds", "sasl.oauthbearer.assertion.claim.sub",
        "sasl.oauthbearer.assertion.file", "sasl.oauthbearer.assertion.jwt.template.file",
        "sasl.oauthbearer.assertion.private.key.file", "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.private.key.pem", "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret", "sasl.oauthbearer.client.id",
        "sasl.oauthbearer.client.secret", "sasl.oauthbearer.config", "sasl.oauthbearer.extensions",
        "sasl.oauthbearer.grant.type", "sasl.oauthbearer.metadata.authentication.type", "sasl.oauthbearer.method",
        "sasl.oauthbearer.scope", "sasl.oauthbearer.sub.claim.name", "sasl.oauthbearer.token.endpoint.url",
        "sasl.password", "sasl.username", "security.protocol", "session.timeout.ms", "socket.blocking.max.ms",
        "socket.connection.setup.timeout.ms", "socket.keepalive.enable", "socket.max.fails", "socket.nagle.disable",
        "socket.receive.buffer.bytes", "socket.send.buffer.bytes", "socket.timeout.ms", "ssl.ca.certificate.stores",
        "ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location", "ssl.certificate.pem", "ssl.cipher.suites",
        "ssl.crl.location", "ssl.curves.list", "ssl.endpoint.identification.algorithm", "ssl.engine.id",
        "ssl.engine.location", "ssl.key.location", "ssl.key.password", "ssl.key.pem", "ssl.keystore.location",
        "ssl.keystore.password", "ssl.providers", "ssl.sigalgs.list", "statistics.interval.ms",
        "sticky.partitioning.linger.ms", "topic.blacklist", "topic.metadata.propagation.max.ms",
        "topic.metadata.refresh.fast.cnt", "topic.metadata.refresh.fast.interval.ms",
        "topic.metadata.refresh.interval.ms", "topic.metadata.refresh.sparse", "transaction.timeout.ms",
        "transactional.id",
    }
)  # fmt: skip
KNOWN_NAMES = LIBRDKAFKA_NAMES | JAVA_NAMES
_SECRET_WORDS = ("password", "passphrase", "secret", "jaas")
_SECRET_NAMES = frozenset(
    {"sasl.oauthbearer.assertion.private.key.pem", "sasl.oauthbearer.config", "ssl.key.pem", "ssl.keystore.key"}
)
_SECURITY = ("security.", "sasl.", "ssl.", "enable.ssl.", "enable.sasl.", "https.")


def is_secret(name: str) -> bool:
    """Whether the value of this setting is never to be shown."""
    return name in _SECRET_NAMES or any(word in name for word in _SECRET_WORDS)


def security_only(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that say who the client is and whom it trusts."""
    return {name: value for name, value in settings.items() if name.startswith(_SECURITY)}


def nearest_name(name: str) -> str:
    """The hint for a name that is not known."""
    found = get_close_matches(name, KNOWN_NAMES, n=1, cutoff=0.6)
    return f"did you mean {found[0]}?" if found else "names are those of librdkafka, as security.protocol"
