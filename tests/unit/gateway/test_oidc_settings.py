"""Settings of an OpenID provider that are not complete or not safe: the gateway does not start."""

import pytest

from headrace.base.errors import UserError
from headrace.gateway.oidc.answers import endpoints
from headrace.gateway.oidc.provider import Provider, provider_of
from headrace.gateway.settings import GatewaySettings

WHOLE = {
    "oidc_issuer": "https://login.example.com",
    "oidc_client_id": "gateway",
    "oidc_audience": "kafka",
    "oidc_redirect_url": "https://gateway.example.com/login/oidc/done",
}
BROKERS = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512"}
DESCRIBED = {
    "issuer": WHOLE["oidc_issuer"],
    "authorization_endpoint": "https://login.example.com/authorize",
    "token_endpoint": "https://login.example.com/token",
    "jwks_uri": "https://login.example.com/keys",
}


def settings(**told: str) -> GatewaySettings:
    return GatewaySettings(kafka=BROKERS, **told)  # type: ignore[arg-type]


def test_all_of_it_or_nothing() -> None:
    assert provider_of(settings()) is None
    assert isinstance(provider_of(settings(**WHOLE)), Provider)


@pytest.mark.parametrize("missing", WHOLE)
def test_one_that_is_missing_is_named(missing: str) -> None:
    with pytest.raises(UserError, match=missing):
        provider_of(settings(**{name: value for name, value in WHOLE.items() if name != missing}))


@pytest.mark.parametrize(
    "wrong",
    [
        {"oidc_issuer": "http://login.example.com"},
        {"oidc_redirect_url": "http://gateway.example.com/login/oidc/done"},
        {"oidc_redirect_url": "https://gateway.example.com/elsewhere"},
        {"oidc_scopes": "profile"},
        {"oidc_client_secret_file": "/nowhere"},
        {"oidc_ca": "/nowhere"},
        {"login": "gateway"},
    ],
)
def test_what_is_not_safe_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(UserError):
        provider_of(settings(**WHOLE | wrong))


@pytest.mark.parametrize(
    "wrong",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://login.example.com/token"},
        {"jwks_uri": None},
        {"code_challenge_methods_supported": ["plain"]},
    ],
)
def test_a_provider_that_cannot_be_trusted_is_refused(wrong: dict[str, object]) -> None:
    assert endpoints(DESCRIBED, WHOLE["oidc_issuer"]).end_session == ""
    with pytest.raises(UserError):
        endpoints(DESCRIBED | wrong, WHOLE["oidc_issuer"])
