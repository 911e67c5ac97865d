"""The folder DATA/secure of `headrace up --secure`: what makes the cluster safe, found again by the next start.

    ca.pem, ca.key           the authority that clients and brokers trust
    broker-N.pem             key and certificate of a broker
    gateway.pem              key and certificate of the gateway
    gateway.properties       where the gateway's brokers are and whom it trusts, without a login
    gateway-login.properties the login of the gateway's own user
    webhook.keys             the key that seals the secrets of webhooks
    admin.properties         the administrator's login, by librdkafka's names
    admin-java.properties    the same for Java's tools (--command-config)

`admin.properties` is written last: where it stands, the rest is there and the store knows the administrator.
"""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from headrace.base.private_files import make_directory
from headrace.client.properties import read_properties

ADMIN: Final = "admin"
MECHANISM: Final = "SCRAM-SHA-512"


class SecureFolder:
    def __init__(self, data: Path) -> None:
        self.path = data.resolve() / "secure"

    @property
    def authority(self) -> Path:
        return self.path / "ca.pem"

    @property
    def admin(self) -> Path:
        return self.path / "admin.properties"

    @property
    def gateway(self) -> Path:
        return self.path / "gateway.properties"

    @property
    def gateway_certificate(self) -> Path:
        return self.path / "gateway.pem"

    @property
    def gateway_login(self) -> Path:
        return self.path / "gateway-login.properties"

    @property
    def webhook_keys(self) -> Path:
        return self.path / "webhook.keys"

    @property
    def is_complete(self) -> bool:
        return self.admin.exists()

    def certificate(self, broker_id: int) -> Path:
        return self.path / f"broker-{broker_id}.pem"

    def make(self) -> None:
        make_directory(self.path)

    def drop_certificates(self) -> None:
        """Deletes those of brokers and of the gateway: nobody trusts the authority any more that signed them."""
        for path in (*self.path.glob("broker-*.pem"), self.gateway_certificate):
            path.unlink(missing_ok=True)

    def admin_password(self) -> str:
        return read_properties(str(self.admin))["sasl.password"]

    def write_admin(self, bootstrap: str, password: str) -> None:
        from headrace.cli.security.certificates import save_private

        lines = {"bootstrap.servers": bootstrap, **self.client_lines()}
        login = {"sasl.username": ADMIN, "sasl.password": password}
        java = {
            **{name: value for name, value in lines.items() if name != "ssl.ca.location"},
            "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
            f'username="{ADMIN}" password="{password}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority),
        }
        save_private(self.path / "admin-java.properties", _as_file(java))
        save_private(self.admin, _as_file({**lines, **login}))

    def write_gateway(self) -> None:
        from headrace.cli.security.certificates import save_private

        save_private(self.gateway, _as_file(self.client_lines()))

    def write_gateway_login(self, user: str, password: str) -> None:
        from headrace.cli.security.certificates import save_private

        login = {"sasl.username": user, "sasl.password": password}
        save_private(self.gateway_login, _as_file({**self.client_lines(), **login}))

    def write_webhook_keys(self, key: bytes) -> None:
        from headrace.cli.security.certificates import save_private

        save_private(self.webhook_keys, base64.b64encode(key) + b"\n")

    def client_lines(self) -> dict[str, str]:
        """The settings that every client needs, beside its user name and password."""
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": MECHANISM,
            "ssl.ca.location": str(self.authority),
        }


def _as_file(settings: Mapping[str, str]) -> bytes:
    return "".join(f"{name}={value}\n" for name, value in settings.items()).encode()
