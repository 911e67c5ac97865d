"""Both contestants with a listener that has TLS beside the plain one, with certificates of one authority, and clients of it.

Topics are made over the plain listener, which belongs to nobody's figures. Keys are P-256, as `headrace certs create` makes
them; Kafka is given the same PEM.
"""

import dataclasses
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import kafka
from bench.broker import Running
from bench.headrace import Headrace
from bench.kafka import Kafka
from bench.scenarios import Stage

HOST = "127.0.0.1"
TLS_PORT_SHIFT = 500


@dataclass
class Certificates:
    folder: Path

    @property
    def ca(self) -> str:
        return str(self.folder / "ca.pem")

    @property
    def broker(self) -> str:
        return str(self.folder / "broker.pem")

    def client(self) -> dict[str, object]:
        """The properties of librdkafka."""
        return {"security.protocol": "SSL", "ssl.ca.location": self.ca}


def made(folder: Path) -> Certificates:
    """Made by the command that a user has; those of an earlier run are taken as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    found = Certificates(folder)
    if not Path(found.broker).exists():
        command = [sys.executable, "-m", "headrace.cli", "certs", "create", str(folder), "--host", HOST]
        subprocess.run(command, check=True, capture_output=True)
    return found


def headrace_with_tls(certificates: Certificates, port: int) -> Headrace:
    return Headrace({**_listeners(port), **_stores(certificates)})


def kafka_with_tls(certificates: Certificates, port: int) -> Kafka:
    """Kafka wants the type of a store said, and its controller's listener too."""
    settings = {**_listeners(port), **_stores(certificates)}
    control = f"CONTROLLER://{HOST}:{port + kafka._CONTROLLER_PORT_SHIFT}"
    more = {
        "advertised.listeners": settings["listeners"],
        "listeners": f"{settings['listeners']},{control}",
        "listener.security.protocol.map": f"{settings['listener.security.protocol.map']},CONTROLLER:PLAINTEXT",
        "ssl.keystore.type": "PEM",
        "ssl.truststore.type": "PEM",
    }
    return Kafka({**settings, **more})


def _listeners(port: int) -> dict[str, str]:
    return {
        "listeners": f"PLAINTEXT://{HOST}:{port},SSL://{HOST}:{port + TLS_PORT_SHIFT}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL",
        "inter.broker.listener.name": "PLAINTEXT",
    }


def _stores(certificates: Certificates) -> dict[str, str]:
    return {"ssl.keystore.location": certificates.broker, "ssl.truststore.location": certificates.ca}


@dataclass(frozen=True)
class TlsStage(Stage):
    """A stage whose clients come in over TLS."""

    properties: dict[str, object] = dataclasses.field(default_factory=dict)

    def run(self, program: str, options: dict[str, object], properties: dict[str, object]) -> dict[str, Any]:
        return super().run(program, {"brokers": tls_address(self.broker), **options}, {**self.properties, **properties})

    def start(self, program: str, options: dict[str, object], properties: dict[str, object]) -> Any:
        return super().start(
            program, {"brokers": tls_address(self.broker), **options}, {**self.properties, **properties}
        )


def tls_address(broker: Running) -> str:
    return f"{HOST}:{int(broker.bootstrap.rpartition(':')[2]) + TLS_PORT_SHIFT}"
