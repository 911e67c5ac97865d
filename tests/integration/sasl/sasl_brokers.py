"""Brokers that ask for a login, with users who were there before the first start."""

import urllib.request
from collections.abc import Mapping
from pathlib import Path

from headrace.cli.app import run
from headrace.cli.run.ports import free_port
from headrace.testing.broker import HOST, Broker

PASSWORD = "se=cr,et ä"
BROKER = "broker"
USERS = ("al", "b=o,b")


def sasl_broker(data: Path, settings: Mapping[str, object]) -> Broker:
    """A broker with one listener, for clients and for itself."""
    port = free_port(HOST)
    login = f'ScramLoginModule required username="{BROKER}" password="{BROKER}";'
    own = {
        "listeners": f"OUT://{HOST}:{port}",
        "listener.security.protocol.map": "OUT:SASL_PLAINTEXT",
        "listener.name.out.scram-sha-512.sasl.jaas.config": login,
    }
    add_users(data, BROKER, password=BROKER)
    return Broker({**own, **settings}, data=data, port=port)


def add_users(data: Path, *names: str, password: str = PASSWORD) -> None:
    secret = data / "password"
    secret.write_text(f"{password}\n")
    for name in names:
        assert run(["user", "add", name, "--password-file", str(secret), "--data", str(data)]) == 0


def librdkafka(broker: Broker, mechanism: str, user: str = "al", password: str = PASSWORD) -> dict[str, object]:
    return {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }


def java_properties(path: Path, user: str, password: str, mechanism: str) -> str:
    """The name of a file with options of the Java client."""
    login = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    path.write_text(
        "security.protocol=SASL_PLAINTEXT\n"
        f"sasl.mechanism={mechanism}\n"
        f"sasl.jaas.config=org.apache.kafka.common.security.{login}LoginModule required "
        f'username="{user}" password="{password}";\n'
    )
    return str(path)


def python_client(broker: Broker, mechanism: str, user: str = "al", password: str = PASSWORD) -> Mapping[str, object]:
    """Options of kafka-python and aiokafka."""
    return {
        "bootstrap_servers": broker.bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }


def requests(broker: Broker, api: str) -> int:
    """How many requests of this API there were, in all its versions."""
    with urllib.request.urlopen(broker.metrics_url, timeout=10) as page:
        lines = page.read().decode().splitlines()
    found = [line for line in lines if line.startswith("headrace_requests_total") and f'api="{api}"' in line]
    return sum(int(float(line.rpartition(" ")[2])) for line in found)
