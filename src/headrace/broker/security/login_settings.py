"""Settings of logins on one listener: its own (`listener.name.<listener>.…`), or those of all."""

from typing import cast

from headrace.base.errors import UserError
from headrace.broker.security.gate import GateSettings
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.listener_settings import PREFIX
from headrace.security.oauthbearer import ClaimRules


class LoginSettings:
    def __init__(self, config: BrokerConfig, listener: str) -> None:
        self._config = config
        self._listener = listener

    def number(self, name: str) -> int:
        return cast(int, self._config.of_listener(self._listener, name))

    def flag(self, name: str) -> bool:
        return cast(bool, self._config.of_listener(self._listener, name))

    def text(self, name: str) -> str:
        """Empty where nothing is set."""
        return cast(str | None, self._config.of_listener(self._listener, name)) or ""

    def words(self, name: str) -> tuple[str, ...]:
        return cast(tuple[str, ...], self._config.of_listener(self._listener, name))

    def session_ms(self, mechanism: str) -> int:
        """How long logins by this mechanism are good: said for it, for the listener, or for all."""
        setting = "connections.max.reauth.ms"
        own = f"{PREFIX}{self._listener.lower()}.{mechanism.lower()}.{setting}"
        return self._config.number(own) if any(self._config.found(own)) else self.number(setting)


def gate_settings(settings: LoginSettings) -> GateSettings:
    return GateSettings(
        login_seconds_max=settings.number("sasl.server.login.timeout.ms") / 1000,
        frame_bytes_max=settings.number("sasl.server.max.receive.size"),
        refusal_seconds=settings.number("connection.failed.authentication.delay.ms") / 1000,
        session_ms_max={each: settings.session_ms(each) for each in settings.words("sasl.enabled.mechanisms")},
    )


def claim_rules(settings: LoginSettings) -> ClaimRules:
    """The rules for tokens; without an issuer and an audience any token of anybody's would do, so there is no broker."""
    needed = {
        "sasl.oauthbearer.expected.issuer": settings.text("sasl.oauthbearer.expected.issuer"),
        "sasl.oauthbearer.expected.audience": settings.words("sasl.oauthbearer.expected.audience"),
        "sasl.oauthbearer.sub.claim.name": settings.text("sasl.oauthbearer.sub.claim.name"),
        "sasl.oauthbearer.scope.claim.name": settings.text("sasl.oauthbearer.scope.claim.name"),
    }
    missing = [name for name, value in needed.items() if not value]
    if missing:
        fix = f"set {missing[0]}, or take OAUTHBEARER off sasl.enabled.mechanisms"
        raise UserError(f"OAUTHBEARER needs {missing[0]}", fix)
    return ClaimRules(
        settings.text("sasl.oauthbearer.expected.issuer"),
        frozenset(settings.words("sasl.oauthbearer.expected.audience")),
        settings.number("sasl.oauthbearer.clock.skew.seconds"),
        settings.text("sasl.oauthbearer.sub.claim.name"),
        settings.text("sasl.oauthbearer.scope.claim.name"),
    )
