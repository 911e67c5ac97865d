"""Three brokers as strangers may meet them: clients log in over TLS, brokers know each other by certificates, rules are on.

Users: `admin`, who may do everything; `app`, whom rules let do what clients do, and who the clients of a scenario are; and
those that are added before the start. Each has its name as password.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from chaos.cluster import LOOPBACK, Cluster
from chaos.login import Login
from headrace.cli.app import run
from headrace.cli.run.ports import free_port
from headrace.cli.security.certificates import CA_FILE, Authority, save_private

ADMIN, APP = "admin", "app"
RULES = (
    ("--read", "--write", "--create", "--delete", "--topic", "*"),
    ("--read", "--delete", "--group", "*"),
    ("--write", "--txn-id", "*"),
    ("--describe", "--cluster"),
)
MECHANISM = "SCRAM-SHA-512"
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
CERTIFICATE_DAYS = 2


class SecuredCluster(Cluster):
    def __init__(
        self, data: Path, store: str = "", users: Sequence[str] = (), settings: Mapping[str, str] | None = None
    ) -> None:
        self.secrets = data / "secrets"
        self.secrets.mkdir(parents=True)
        self._authority = Authority.in_folder(self.secrets, CERTIFICATE_DAYS)
        super().__init__(data, store=store, settings=settings, login=self.login_of(APP))
        where = ["--store", store] if store else ["--data", str(data)]
        for name in (ADMIN, APP, *users):
            (self.secrets / name).write_text(f"{name}\n")
            assert run(["user", "add", name, "--password-file", str(self.secrets / name), *where]) == 0

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            for rule in RULES:
                self.cli("acl", "allow", "--user", APP, *rule)
        except BaseException:
            self.close()
            raise
        return self

    def cli(self, *words: str) -> None:
        """A command of the administrator, which succeeds."""
        own = ["--client-config", self.user_file(ADMIN), "--bootstrap", self.bootstrap]
        assert run([*words, *own]) == 0

    def settings_of(self, broker: int, port: int) -> Mapping[str, str]:
        self.certify(broker)
        return {
            "listeners": f"CLIENTS://{LOOPBACK}:{port},BROKERS://{LOOPBACK}:{free_port(LOOPBACK)}",
            "listener.security.protocol.map": "CLIENTS:SASL_SSL,BROKERS:SSL",
            "inter.broker.listener.name": "BROKERS",
            "listener.name.brokers.ssl.client.auth": "required",
            "ssl.keystore.location": str(self.keystore(broker)),
            "ssl.truststore.location": str(self.secrets / CA_FILE),
            "authorizer.class.name": AUTHORIZER,
            "super.users": ";".join(f"User:{name}" for name in (ADMIN, "CN=broker-1", "CN=broker-2", "CN=broker-3")),
        }

    # -- certificates ------------------------------------------------------------------------------------------------

    def keystore(self, broker: int) -> Path:
        return self.secrets / f"broker-{broker}.pem"

    def certify(self, broker: int, days: float = CERTIFICATE_DAYS) -> None:
        """A certificate in place of the one that is there, good for so many days from now."""
        save_private(self.keystore(broker), self._authority.issue(f"broker-{broker}", (LOOPBACK,), days))

    # -- clients -----------------------------------------------------------------------------------------------------

    def login_of(self, user: str) -> Login:
        trusted, secret = str(self.secrets / CA_FILE), user
        librdkafka: dict[str, Any] = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": MECHANISM,
            "sasl.username": user,
            "sasl.password": secret,
            "ssl.ca.location": trusted,
        }
        kafka_python = {
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": MECHANISM,
            "sasl_plain_username": user,
            "sasl_plain_password": secret,
            "ssl_cafile": trusted,
        }
        return Login(librdkafka, kafka_python)

    def user_file(self, user: str) -> str:
        """A file of client settings, for `--client-config`."""
        path = self.secrets / f"{user}.properties"
        lines = {**self.login_of(user).librdkafka, "bootstrap.servers": self.bootstrap}
        path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        path.chmod(0o600)
        return str(path)
