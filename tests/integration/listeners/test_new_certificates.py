"""Another certificate for one listener, set while the broker runs, by the tool of any Kafka client."""

import ssl
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from tls_world import HOST, NAMES, SecureBroker

from eventually import until
from headrace.cli.security.certificates import read_server

NAME = "listener.name.tls.ssl.keystore.location"


def set_to(secure: SecureBroker, path: str) -> None:
    admin = AdminClient({"bootstrap.servers": secure.inside})
    entry = ConfigEntry(NAME, path, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(20)


def renewed(secure: SecureBroker, path: Path) -> str:
    """The file of another certificate for the same names."""
    path.write_bytes(secure.certificates.authority.issue("broker", NAMES, 30))
    return str(path)


def shown(secure: SecureBroker) -> str:
    return ssl.get_server_certificate((HOST, secure.port))


def test_another_file_is_set_and_one_that_is_none_changes_nothing(secure: SecureBroker, tmp_path: Path) -> None:
    producer = Producer({"bootstrap.servers": secure.bootstrap, **secure.certificates.librdkafka()})
    producer.produce("before", b"1")
    assert producer.flush(30) == 0
    before = shown(secure)
    set_to(secure, secure.certificates.broker("stranger"))
    set_to(secure, renewed(secure, tmp_path / "first.pem"))
    until(lambda: shown(secure), lambda now: now != before)
    first = shown(secure)
    nothing = tmp_path / "nothing.pem"
    nothing.write_text("nothing")
    set_to(secure, str(nothing))
    set_to(secure, renewed(secure, tmp_path / "last.pem"))
    until(lambda: shown(secure), lambda now: now != first)
    assert read_server(HOST, secure.port)[0].subject == "CN=broker"
    # On the connection that it has had from the beginning.
    producer.produce("before", b"2")
    assert producer.flush(30) == 0
