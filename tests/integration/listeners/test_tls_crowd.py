"""Ten thousand who never get through a handshake, on a broker that wants certificates: others go on, and nothing of them is
left."""

from confluent_kafka import Producer
from tls_world import HOST, Certificates, SecureBroker

from crowd import crowd, open_descriptors, resident_bytes
from eventually import until
from headrace.broker.net.acceptor import HANDSHAKES_MAX, HANDSHAKES_WAITING_MAX

SECONDS = 60
# Few of them: a handshake that was begun holds one of so many places, until it has taken too long.
HALF_A_HELLO = bytes.fromhex("16030102000100")
BEGINNINGS = [HALF_A_HELLO, *([b""] * 24)]
BYTES_MAX = 64 << 20


def sends(producer: Producer) -> bool:
    producer.produce("orders", b"hello")
    return producer.flush(SECONDS) == 0


def test_ten_thousand_who_never_shake_hands(certificates: Certificates) -> None:
    secure = SecureBroker(certificates, ssl_client_auth="required")
    with secure.broker as broker:
        client = {"bootstrap.servers": secure.bootstrap, **certificates.librdkafka(certificates.client("app"))}
        producer = Producer(client)
        assert sends(producer)
        memory, descriptors = resident_bytes(broker.pid), open_descriptors(broker.pid)
        with crowd(HOST, secure.port, BEGINNINGS):
            assert sends(producer) and sends(Producer(client))
            assert open_descriptors(broker.pid) < descriptors + HANDSHAKES_WAITING_MAX + HANDSHAKES_MAX + 20
            assert resident_bytes(broker.pid) - memory < BYTES_MAX
            # Nobody waits for them longer than a handshake may take.
            until(lambda: open_descriptors(broker.pid) < descriptors + 20)
        assert sends(producer) and sends(Producer(client))
