"""Ten thousand who never log in, on a broker that asks for a login: others go on, and nothing of them is left."""

import struct

from confluent_kafka import Producer
from sasl_brokers import add_users, librdkafka, sasl_broker

from crowd import crowd, open_descriptors, resident_bytes
from eventually import until
from headrace.testing.broker import HOST
from headrace.wire.frame import request_frame
from headrace.wire.messages.sasl import SaslHandshakeRequest

SECONDS = 60
HALF_A_FRAME = struct.pack(">i", 200_000) + bytes(46)
# Whoever was answered once costs a second descriptor.
AMID_A_LOGIN = b"".join(request_frame(SaslHandshakeRequest("SCRAM-SHA-512"), 1, 1, "crowd"))
BEGINNINGS = [b"", HALF_A_FRAME, b"\0\0", HALF_A_FRAME, AMID_A_LOGIN, b"", b"", HALF_A_FRAME, HALF_A_FRAME, b"\0"]
BYTES_EACH_MAX = 16 << 10


def sends(producer: Producer) -> bool:
    producer.produce("orders", b"hello")
    return producer.flush(SECONDS) == 0


def test_ten_thousand_who_never_log_in(tmp_path):
    add_users(tmp_path, "al")
    settings = {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512", "sasl.server.login.timeout.ms": 600_000}
    with sasl_broker(tmp_path, settings) as broker:
        login = librdkafka(broker, "PLAIN")
        producer = Producer(login)
        assert sends(producer)
        memory, descriptors = resident_bytes(broker.pid), open_descriptors(broker.pid)
        with crowd(HOST, broker.port, BEGINNINGS) as count:
            until(lambda: open_descriptors(broker.pid) >= descriptors + count)
            assert sends(producer) and sends(Producer(login))
            assert (resident_bytes(broker.pid) - memory) / count < BYTES_EACH_MAX
        until(lambda: open_descriptors(broker.pid) < descriptors + 20)
        assert sends(producer) and sends(Producer(login))


def test_they_are_cut_off(tmp_path):
    add_users(tmp_path, "al")
    settings = {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512", "sasl.server.login.timeout.ms": 1_000}
    with sasl_broker(tmp_path, settings) as broker:
        login = librdkafka(broker, "PLAIN")
        producer = Producer(login)
        assert sends(producer)
        descriptors = open_descriptors(broker.pid)
        with crowd(HOST, broker.port, BEGINNINGS):
            assert sends(producer) and sends(Producer(login))
            until(lambda: open_descriptors(broker.pid) < descriptors + 20)
