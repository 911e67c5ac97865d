"""Settings of delegation tokens, by Kafka's names."""

from typing import Final

from headrace.base.settings import Kind, Setting

TOKEN_SETTINGS: Final = (
    Setting(
        "delegation.token.max.lifetime.ms",
        Kind.LONG,
        604_800_000,
        "The longest life of a token, however often it is renewed.",
        low=1_000,
    ),
    Setting(
        "delegation.token.expiry.time.ms",
        Kind.LONG,
        86_400_000,
        "How long a token lives that is not renewed. `headrace token create --ttl` renews its own.",
        low=1_000,
    ),
    Setting(
        "delegation.token.expiry.check.interval.ms",
        Kind.LONG,
        3_600_000,
        "How often tokens that have expired are struck off the metadata; they are good for nothing before that.",
        low=1_000,
    ),
)
