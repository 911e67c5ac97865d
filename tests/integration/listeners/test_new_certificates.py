"""Another certificate for one listener, set while the broker runs, by the tool of any Kafka client."""

from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from tls_world import HOST, SecureBroker

from eventually import until
from headrace.cli.security.certificates import read_server

NAME = "listener.name.tls.ssl.keystore.location"


def set_to(secure: SecureBroker, path: str) -> None:
    admin = AdminClient({"bootstrap.servers": secure.inside})
    entry = ConfigEntry(NAME, path, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(20)


def subject(secure: SecureBroker) -> str:
    return read_server(HOST, secure.port)[0].subject


def test_another_file_is_set_and_one_that_is_none_changes_nothing(secure: SecureBroker, tmp_path: Path) -> None:
    producer = Producer({"bootstrap.servers": secure.bootstrap, **secure.certificates.librdkafka()})
    producer.produce("before", b"1")
    assert producer.flush(30) == 0
    set_to(secure, secure.certificates.broker("renewed"))
    until(lambda: subject(secure), lambda shown: shown == "CN=renewed")
    nothing = tmp_path / "nothing.pem"
    nothing.write_text("nothing")
    set_to(secure, str(nothing))
    set_to(secure, secure.certificates.broker("last"))
    until(lambda: subject(secure), lambda shown: shown == "CN=last")
    # On the connection that it has had from the beginning.
    producer.produce("before", b"2")
    assert producer.flush(30) == 0
