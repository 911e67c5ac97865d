"""`headrace up --secure`: what is made before the first broker starts, and the settings that each of them starts with.

Clients log in over TLS and may do what rules allow; brokers know each other by certificates, on ports of their own; one
administrator may do everything, and stands in the metadata store before anybody could ask for him. The gateway has a user
of its own with a few rights (`gateway_user`). All of it lies in `SecureFolder`, is made once, and a later start finds it:
an administrator or a gateway whose file was deleted gets a new password.
"""

import asyncio
import secrets
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from headrace.base.extras import installation_of
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.run.ports import free_port, is_free
from headrace.cli.run.serve_options import ServeOptions
from headrace.cli.up.gateway_user import GATEWAY_USER, gateway_rules
from headrace.cli.up.secure_folder import ADMIN, SecureFolder

CLIENTS, BROKERS = "CLIENTS", "BROKERS"
BROKER_NAME: Final = "headrace-broker"
GATEWAY_NAME: Final = "headrace-gateway"
AUTHORITY_DAYS, CERTIFICATE_DAYS, RENEWED_DAYS = 3650, 365, 30
# Passwords and tokens go over TLS alone, so clients may use the mechanism that they have.
LOGINS: Final = {
    "sasl.enabled.mechanisms": "SCRAM-SHA-512,SCRAM-SHA-256,PLAIN,OAUTHBEARER",
    "sasl.oauthbearer.scoped.tokens.only": "true",
}
# Where brokers call each other: so far above the port for clients, or where there is room.
INNER_PORTS = 1000


class SecureUp:
    def __init__(self, data: Path, host: str) -> None:
        if not find_spec("cryptography"):
            fix = installation_of("cryptography")
            raise Failure("--secure needs cryptography, which is not installed", fix, ExitCode.USAGE)
        self.folder = SecureFolder(data)
        self._host = host
        self._store = ServeOptions(data=str(data)).store_path

    def prepare(self, bootstrap: str, given: Mapping[str, str]) -> None:
        """Makes what is not there yet; `given` are settings that somebody chose for the brokers."""
        from headrace.cli.security.certificates import Authority

        self._require_apart(given)
        # Who says anything of logins has to say all of it.
        self._logins = {} if any(name.startswith("sasl.") for name in given) else LOGINS
        self.folder.make()
        if not self.folder.authority.exists():
            self.folder.drop_certificates()
        self._authority = Authority.in_folder(self.folder.path, AUTHORITY_DAYS)
        if self.folder.is_complete:
            password = self.folder.admin_password()
        else:
            password = secrets.token_urlsafe(24)
            self._put_user(ADMIN, password)
        self.folder.write_admin(bootstrap, password)

    def _put_user(self, name: str, password: str) -> None:
        from headrace.cli.security.passwords import salted_credentials
        from headrace.cli.security.user_store import put_users

        asyncio.run(put_users(self._store, salted_credentials(name, password, ())))

    def _require_apart(self, given: Mapping[str, str]) -> None:
        for name in sorted(given.keys() & self._settings(0, 0, 0).keys()):
            fix = f"leave {name} out, or secure the brokers without --secure (docs/security.md)"
            raise Failure(f"--secure sets {name} itself", fix, ExitCode.USAGE)

    def settings_of(self, broker_id: int, port: int) -> dict[str, str]:
        """The settings of one broker, whose certificate is there by then."""
        self._certify(self.folder.certificate(broker_id), BROKER_NAME)
        wanted = port + INNER_PORTS
        inner = wanted if wanted <= 65535 and is_free(self._host, wanted) else free_port(self._host)
        return {**self._logins, **self._settings(broker_id, port, inner)}

    def gateway_words(self, chosen: Collection[str] = ()) -> list[str]:
        """Options of the gateway: it serves https, passes on the logins of its callers, and has one for its own records.

        `chosen` are settings of the gateway that somebody chose, which stay.
        """
        # Not the brokers' name, by which they are super users of each other.
        self._certify(self.folder.gateway_certificate, GATEWAY_NAME)
        self.folder.write_gateway()
        self._provide_gateway()
        ours = {
            "service_config": f"--service-config={self.folder.gateway_login}",
            "webhook_keys": f"--set=webhook_keys={self.folder.webhook_keys}",
        }
        return [
            f"--client-config={self.folder.gateway}",
            f"--set=certificate={self.folder.gateway_certificate}",
            *(word for name, word in ours.items() if name not in chosen),
        ]

    def _provide_gateway(self) -> None:
        """Makes its user and its key, unless they are there: rules that an administrator took away stay away."""
        from headrace.cli.security.user_store import put_rules

        if not self.folder.webhook_keys.exists():
            self.folder.write_webhook_keys(secrets.token_bytes(32))
        if not self.folder.gateway_login.exists():
            password = secrets.token_urlsafe(24)
            self._put_user(GATEWAY_USER, password)
            asyncio.run(put_rules(self._store, gateway_rules()))
            self.folder.write_gateway_login(GATEWAY_USER, password)

    def _certify(self, path: Path, name: str) -> None:
        from headrace.cli.security.certificates import read_file, save_private

        if path.exists() and read_file(path)[0].days_left > RENEWED_DAYS:
            return
        hosts = [self._host, "localhost", "127.0.0.1", "::1"]
        save_private(path, self._authority.issue(name, list(dict.fromkeys(hosts)), CERTIFICATE_DAYS))

    def _settings(self, broker_id: int, port: int, inner_port: int) -> dict[str, str]:
        return {
            "listeners": f"{CLIENTS}://{self._host}:{port},{BROKERS}://{self._host}:{inner_port}",
            "listener.security.protocol.map": f"{CLIENTS}:SASL_SSL,{BROKERS}:SSL",
            "inter.broker.listener.name": BROKERS,
            f"listener.name.{BROKERS.lower()}.ssl.client.auth": "required",
            "ssl.keystore.location": str(self.folder.certificate(broker_id)),
            "ssl.truststore.location": str(self.folder.authority),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{ADMIN};User:CN={BROKER_NAME}",
        }


def require_secure(data: Path) -> None:
    """Fails where an earlier start was secure: nobody shall open such a cluster to everybody by leaving a word out."""
    if SecureFolder(data).is_complete:
        fix = f"add --secure; or, to serve it to everybody on this machine, delete {SecureFolder(data).path}"
        raise Failure(f"the cluster in {data} was started with --secure", fix, ExitCode.USAGE)
