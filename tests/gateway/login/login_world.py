"""A broker that asks for logins, with users who were there before its first start, and a gateway before it."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gateway.gateway_process import GatewayProcess
from headrace.cli.app import run
from headrace.cli.run.ports import free_port
from headrace.testing.broker import HOST, Broker

BROKER = "broker"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
# A name with what each of the encodings on the way has to keep.
USERS = {"al": "se=cr,et ä:1", "bo": "secret-2", "root": "secret-3", "gw": "secret-4"}


def secured_broker(data: Path, settings: Mapping[str, object]) -> Broker:
    port = free_port(HOST)
    login = f'ScramLoginModule required username="{BROKER}" password="{BROKER}";'
    own = {
        "listeners": f"OUT://{HOST}:{port}",
        "listener.security.protocol.map": "OUT:SASL_PLAINTEXT",
        "listener.name.out.scram-sha-512.sasl.jaas.config": login,
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "group.initial.rebalance.delay.ms": 0,
        "auto.create.topics.enable": "false",
    }
    for name, password in {**USERS, BROKER: BROKER}.items():
        set_password(data, name, password)
    return Broker({**own, **settings}, data=data, port=port)


def set_password(data: Path, name: str, password: str) -> None:
    secret = data / "password"
    secret.write_text(f"{password}\n")
    assert run(["user", "add", name, "--password-file", str(secret), "--data", str(data)]) == 0


def client_file(path: Path, mechanism: str = "SCRAM-SHA-512", user: str = "") -> Path:
    """A file of client settings: of a gateway without a name, or of a user."""
    lines = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism}
    if user:
        lines |= {"sasl.username": user, "sasl.password": USERS[user]}
    path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    path.chmod(0o600)
    return path


def gateway_before(broker: Broker, path: Path, *arguments: str, mechanism: str = "SCRAM-SHA-512") -> GatewayProcess:
    settings = client_file(path / f"{mechanism}.properties", mechanism)
    return GatewayProcess(broker.bootstrap, "--client-config", str(settings), *arguments)


def basic(name: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


def librdkafka(broker: Broker, user: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": user,
        "sasl.password": USERS[user],
        "log_level": 0,
    }
