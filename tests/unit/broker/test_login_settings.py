"""Settings of logins: one listener's come before those of all, and what OAUTHBEARER cannot do without is asked for."""

import pytest

from headrace.base.errors import UserError
from headrace.broker.security.login_settings import LoginSettings, claim_rules, gate_settings
from headrace.cluster.broker_config import BrokerConfig

GOOD = {
    "sasl.oauthbearer.expected.issuer": "https://issuer",
    "sasl.oauthbearer.expected.audience": "headrace,kafka",
}


def test_by_default() -> None:
    settings = LoginSettings(BrokerConfig(), "OUT")
    assert settings.words("sasl.enabled.mechanisms") == ("SCRAM-SHA-256", "SCRAM-SHA-512")
    gate = gate_settings(settings)
    assert (gate.frame_bytes_max, gate.refusal_seconds, set(gate.session_ms_max.values())) == (524_288, 0.1, {0})


def test_the_nearest_setting_counts() -> None:
    given = {
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.out.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
        "connections.max.reauth.ms": "1000",
        "listener.name.out.connections.max.reauth.ms": "2000",
        "listener.name.out.scram-sha-256.connections.max.reauth.ms": "3000",
    }
    inside = gate_settings(LoginSettings(BrokerConfig(given), "IN"))
    assert inside.session_ms_max == {"PLAIN": 1000}
    outside = gate_settings(LoginSettings(BrokerConfig(given), "OUT"))
    assert outside.session_ms_max == {"PLAIN": 2000, "SCRAM-SHA-256": 3000, "OAUTHBEARER": 2000}


def test_rules_for_tokens() -> None:
    rules = claim_rules(LoginSettings(BrokerConfig(GOOD), "OUT"))
    assert (rules.issuer, rules.audiences) == ("https://issuer", {"headrace", "kafka"})
    assert (rules.clock_skew_seconds, rules.name_claim, rules.scope_claim) == (30, "sub", "scope")


@pytest.mark.parametrize("name", [*GOOD, "sasl.oauthbearer.sub.claim.name", "sasl.oauthbearer.scope.claim.name"])
def test_without_a_rule_there_is_no_broker(name: str) -> None:
    with pytest.raises(UserError) as refused:
        claim_rules(LoginSettings(BrokerConfig({**GOOD, name: ""}), "OUT"))
    assert name in refused.value.cause and name in refused.value.fix


@pytest.mark.parametrize("mechanisms", ["GSSAPI", "PLAIN,NONE", "scram-sha-256"])
def test_mechanisms_that_there_are_not(mechanisms: str) -> None:
    with pytest.raises(UserError, match=r"sasl\.enabled\.mechanisms"):
        BrokerConfig({"sasl.enabled.mechanisms": mechanisms})
