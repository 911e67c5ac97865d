"""Identities to the brokers: whose rights the clients of a gateway have."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from headrace.base.errors import UserError
from headrace.client.security import MECHANISMS, Security, security_from
from headrace.gateway.callers.credential import TOKEN_MECHANISM, Credential, with_login, without_login


class BrokerLogin(NamedTuple):
    """One login for both kinds of clients: our own, and confluent-kafka's."""

    security: Security | None
    kafka: Mapping[str, Any]


class Trust:
    """How brokers are reached and trusted, for whoever logs in."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = without_login(options)
        mechanism = options.get("sasl.mechanism") or options.get("sasl.mechanisms") or ""
        self.mechanism = mechanism.upper()
        if self.mechanism not in (*MECHANISMS, TOKEN_MECHANISM):
            raise UserError(
                f"sasl.mechanism={mechanism or '(not set)'}: callers cannot log in by it",
                f"name one of {', '.join(MECHANISMS)}, or {TOKEN_MECHANISM}",
            )
        is_tls = options["security.protocol"].upper() == "SASL_SSL"
        reached = security_from({**self.options, "security.protocol": "SSL"}) if is_tls else None
        self._tls = reached.tls if reached else None

    @property
    def takes_passwords(self) -> bool:
        return self.mechanism != TOKEN_MECHANISM

    def nobody(self) -> BrokerLogin:
        """Brokers refuse whatever it asks."""
        return BrokerLogin(Security(self._tls, None), self.options)

    def identity(self, credential: Credential) -> BrokerLogin:
        sasl = credential.sasl(self.mechanism)
        return BrokerLogin(Security(self._tls, sasl), with_login(self.options, sasl))
