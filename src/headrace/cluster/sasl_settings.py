"""Settings of logins (SASL), by Kafka's names."""

from typing import Final

from headrace.base.settings import Kind, Setting, Value

SASL_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


def _own(
    name: str,
    kind: Kind,
    default: Value,
    doc: str,
    low: int | None = None,
    high: int | None = None,
    choices: tuple[str, ...] = (),
) -> Setting:
    return Setting(name, kind, default, doc, low, high, choices, per_listener=True)


_OAUTH: Final = (
    _own(
        "sasl.oauthbearer.scoped.tokens.only",
        Kind.BOOLEAN,
        False,
        "OAUTHBEARER takes Headrace's own scoped tokens (`headrace token create`) and no others; it needs no keys.",
    ),
    _own(
        "sasl.oauthbearer.jwks.endpoint.url",
        Kind.STRING,
        None,
        "OAUTHBEARER: the public keys of whoever signs tokens (JWKS), as `https://…` or `file:///…`. Without it, an issuer "
        "and an audience a broker that is to offer OAUTHBEARER does not start.",
    ),
    _own(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        Kind.LONG,
        3_600_000,
        "How often the keys are read again; a token with an unknown key reads them at once, at most every 10 s.",
        low=1_000,
    ),
    _own(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        Kind.LONG,
        100,
        "The pause before keys that could not be read are tried again; it doubles each time.",
        low=1,
    ),
    _own("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", Kind.LONG, 10_000, "The longest such pause.", low=1),
    _own("sasl.oauthbearer.expected.issuer", Kind.STRING, None, "The issuer (`iss`) that a token must name, exactly."),
    _own(
        "sasl.oauthbearer.expected.audience",
        Kind.LIST,
        (),
        "Names of this cluster, one of which a token must be meant for (`aud`).",
    ),
    _own(
        "sasl.oauthbearer.clock.skew.seconds",
        Kind.INT,
        30,
        "How far the clocks of issuer and broker may be apart.",
        low=0,
        high=600,
    ),
    _own("sasl.oauthbearer.sub.claim.name", Kind.STRING, "sub", "The claim that names the user."),
    _own("sasl.oauthbearer.scope.claim.name", Kind.STRING, "scope", "The claim that lists scopes."),
)

SASL_SETTINGS: Final = (
    _own(
        "sasl.enabled.mechanisms",
        Kind.LIST,
        ("SCRAM-SHA-256", "SCRAM-SHA-512"),
        "The ways to log in that SASL listeners offer. Kafka offers Kerberos by default, which there is not.",
        choices=SASL_MECHANISMS,
    ),
    _own(
        "connections.max.reauth.ms",
        Kind.LONG,
        0,
        "How long a login is good for: a client that has not logged in again by then is cut off with its next request. "
        "0 for ever, or as long as its token.",
        low=0,
    ),
    _own(
        "connection.failed.authentication.delay.ms",
        Kind.INT,
        100,
        "How long the answer to a failed login waits.",
        low=0,
        high=10_000,
    ),
    _own("sasl.server.max.receive.size", Kind.INT, 524_288, "The largest message before a login.", low=1_024),
    _own(
        "sasl.server.login.timeout.ms",
        Kind.INT,
        20_000,
        "How long a client has to log in, from its connection on, and again whenever it does so. Kafka has no such limit.",
        low=100,
    ),
    *_OAUTH,
)
