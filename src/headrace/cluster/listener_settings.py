"""Settings of listeners: where a broker listens, by which protocol, TLS of each, and how many connections it takes.

One that is `per_listener` can be given for one listener alone, as `listener.name.<listener in lower case>.<setting>`, those
of a SASL mechanism as `listener.name.<listener>.<mechanism in lower case>.<setting>`.
"""

from typing import Final

from headrace.base.settings import INT_MAX, Kind, Setting

PREFIX: Final = "listener.name."
MECHANISMS: Final = ("plain", "scram-sha-256", "scram-sha-512", "oauthbearer")
# What is read for one mechanism of a listener.
OF_MECHANISMS: Final = ("sasl.jaas.config", "connections.max.reauth.ms")
PROTOCOL_NAMES: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_WHERE: Final = (
    Setting(
        "listeners",
        Kind.LIST,
        (),
        "Where the broker listens: NAME://HOST:PORT, an empty host for all interfaces, port 0 for a free one. Without it "
        "there is one listener PLAINTEXT at --host and --port.",
    ),
    Setting(
        "advertised.listeners",
        Kind.LIST,
        (),
        "Where clients of each listener are told to connect: NAME://HOST:PORT. Without it the addresses of `listeners`.",
    ),
    Setting(
        "listener.security.protocol.map",
        Kind.LIST,
        (),
        "The protocol of each listener whose name is none: NAME:PROTOCOL, with PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.",
    ),
    Setting(
        "inter.broker.listener.name",
        Kind.STRING,
        None,
        "The listener that brokers use among themselves; it keeps connections and memory for them.",
    ),
    Setting(
        "security.inter.broker.protocol",
        Kind.STRING,
        None,
        "The same by protocol, where a listener is named like it; PLAINTEXT if neither is set.",
        choices=PROTOCOL_NAMES,
    ),
)


def _own(name: str, kind: Kind, default: bool | str | tuple[str, ...] | None, doc: str, **more: object) -> Setting:
    return Setting(name, kind, default, doc, per_listener=True, **more)  # type: ignore[arg-type]


_TLS: Final = (
    _own("ssl.keystore.type", Kind.STRING, "PEM", "Key and certificates are PEM.", choices=("PEM",)),
    _own(
        "ssl.keystore.location",
        Kind.STRING,
        None,
        "A PEM file with the broker's private key and its certificate chain. A file that changes is read again.",
        dynamic=True,
    ),
    _own("ssl.keystore.key", Kind.PASSWORD, None, "The private key itself, as PEM, instead of a file."),
    _own("ssl.keystore.certificate.chain", Kind.PASSWORD, None, "The certificate chain of that key, as PEM."),
    _own("ssl.key.password", Kind.PASSWORD, None, "The password of an encrypted private key."),
    _own(
        "ssl.allow.dn.changes",
        Kind.BOOLEAN,
        False,
        "Whether a certificate that is changed while the broker runs may have another distinguished name.",
    ),
    _own(
        "ssl.allow.san.changes",
        Kind.BOOLEAN,
        False,
        "Whether a certificate that is changed while the broker runs may lack subject alternative names of the one before; "
        "more of them it may always have.",
    ),
    _own("ssl.truststore.type", Kind.STRING, "PEM", "Trusted certificates are PEM.", choices=("PEM",)),
    _own(
        "ssl.truststore.location",
        Kind.STRING,
        None,
        "A PEM file with the authorities whose certificates are trusted: of clients, and of other brokers. A file that "
        "changes is read again.",
        dynamic=True,
    ),
    _own("ssl.truststore.certificates", Kind.PASSWORD, None, "The same certificates themselves, as PEM."),
    _own(
        "ssl.client.auth",
        Kind.STRING,
        "none",
        "Whether clients show a certificate: `requested` ones may, `required` ones must.",
        choices=("none", "requested", "required"),
    ),
    _own(
        "ssl.enabled.protocols",
        Kind.LIST,
        ("TLSv1.2", "TLSv1.3"),
        "The versions of TLS that are spoken.",
        choices=("TLSv1.2", "TLSv1.3"),
    ),
    _own(
        "ssl.cipher.suites",
        Kind.LIST,
        (),
        "The cipher suites of TLS 1.2, by their standard or OpenSSL's names; without them those with ECDHE and AEAD. Those "
        "of TLS 1.3 are all offered.",
    ),
    _own(
        "ssl.endpoint.identification.algorithm",
        Kind.STRING,
        "https",
        "Whether a broker compares the name in another's certificate with its host: `https`, or empty for no.",
        choices=("https", ""),
    ),
    _own(
        "ssl.principal.mapping.rules",
        Kind.STRING,
        "DEFAULT",
        "How a client's certificate becomes its principal: DEFAULT (the whole distinguished name), or rules "
        "RULE:pattern/replacement/[L or U], separated by commas. The first that fits the whole name counts; none, and the "
        "connection is closed.",
    ),
)

_BETWEEN_BROKERS: Final = (
    Setting(
        "sasl.mechanism.inter.broker.protocol",
        Kind.STRING,
        "SCRAM-SHA-512",
        "How a broker logs in at another, where the listener between brokers asks for it.",
        choices=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
    ),
    _own(
        "sasl.jaas.config",
        Kind.PASSWORD,
        None,
        "Who a broker is to others: as listener.name.<listener>.<mechanism>.sasl.jaas.config, `…LoginModule required "
        'username="…" password="…";`.',
    ),
)

_CONNECTIONS: Final = (
    Setting(
        "max.connections",
        Kind.INT,
        INT_MAX,
        "The most connections at a time, of one listener if it is set for one. Beyond the broker's own limit another "
        "broker's connection ends the client's that was silent longest.",
        0,
        dynamic=True,
        per_listener=True,
    ),
    Setting(
        "max.connections.per.ip",
        Kind.INT,
        INT_MAX,
        "The most connections at a time from one address. Brokers count only where they share the listener of clients.",
        0,
        dynamic=True,
    ),
    Setting(
        "max.connections.per.ip.overrides",
        Kind.LIST,
        (),
        "The same for single addresses: ADDRESS:NUMBER.",
        words=r"[0-9a-zA-Z.:\-]+:[0-9]+",
        dynamic=True,
    ),
    Setting(
        "max.connection.creation.rate",
        Kind.INT,
        INT_MAX,
        "New connections a second, of one listener if it is set for one; more of them wait to be accepted.",
        1,
        per_listener=True,
    ),
)

LISTENER_SETTINGS: Final = (*_WHERE, *_TLS, *_BETWEEN_BROKERS, *_CONNECTIONS)


def unprefixed(name: str) -> str:
    """The setting that a name `listener.name.…` is about, without the listener and the mechanism."""
    _, _, rest = name.removeprefix(PREFIX).partition(".")
    mechanism, _, setting = rest.partition(".")
    return setting if mechanism in MECHANISMS else rest
