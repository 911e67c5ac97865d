"""A broker that takes the tokens of an OpenID provider, and a gateway that people log in to with it."""

from pathlib import Path

from gateway.gateway_process import GatewayProcess
from gateway.login.login_world import MECHANISMS, gateway_before, secured_broker
from headrace.testing.broker import Broker
from openid_provider import AUDIENCE, CLIENT, SECRET, OpenidProvider


def broker_of(provider: OpenidProvider, data: Path) -> Broker:
    return secured_broker(
        data,
        {
            "sasl.enabled.mechanisms": ",".join((*MECHANISMS, "OAUTHBEARER")),
            "sasl.oauthbearer.jwks.endpoint.url": f"file://{provider.jwks}",
            "sasl.oauthbearer.expected.issuer": provider.issuer,
            "sasl.oauthbearer.expected.audience": AUDIENCE,
        },
    )


def oidc_settings(provider: OpenidProvider, folder: Path) -> dict[str, str]:
    secret = folder / "client-secret"
    secret.write_text(f"{SECRET}\n")
    return {
        "oidc_issuer": provider.issuer,
        "oidc_client_id": CLIENT,
        "oidc_client_secret_file": str(secret),
        "oidc_audience": AUDIENCE,
        "oidc_ca": str(provider.ca),
    }


def oidc_gateway(broker: Broker, provider: OpenidProvider, folder: Path) -> GatewayProcess:
    made = gateway_before(broker, folder)
    settings = {**oidc_settings(provider, folder), "oidc_redirect_url": f"{made.url}/login/oidc/done"}
    made.arguments += tuple(word for name, value in settings.items() for word in ("--set", f"{name}={value}"))
    return made.start()
