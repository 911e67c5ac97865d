"""Strangers at the port of a broker that asks for a login: raw connections, and crowds of them."""

import socket
import struct
from contextlib import ExitStack

import pytest
from confluent_kafka import Producer
from sasl_brokers import PASSWORD, add_users, librdkafka, sasl_broker

from clients.raw import RawClient
from headrace.broker.handlers import HANDLERS
from headrace.wire.apis import APIS
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.metadata import MetadataRequest
from headrace.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

SESSION_MS = 1_000
LOGIN_MS = 3_000
CROWD = 500
EVERY_VERSION = [(api.key, version) for api in APIS.values() for version in range(api.min_version, api.max_version + 1)]
OF_A_LOGIN = (17, 18, 36)


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    data = tmp_path_factory.mktemp("sasl")
    add_users(data, "al")
    settings = {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "sasl.server.login.timeout.ms": LOGIN_MS,
        "sasl.server.max.receive.size": 4096,
    }
    with sasl_broker(data, settings) as broker:
        yield broker


@pytest.fixture(scope="module")
def brief_broker(tmp_path_factory):
    """Its logins end soon."""
    data = tmp_path_factory.mktemp("sasl")
    add_users(data, "al")
    settings = {"sasl.enabled.mechanisms": "PLAIN", "connections.max.reauth.ms": SESSION_MS}
    own = {"listener.name.out.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512"}
    with sasl_broker(data, {**settings, **own}) as broker:
        yield broker


def log_in(client: RawClient) -> int:
    """The lifetime of the login."""
    assert client.ask(SaslHandshakeRequest("PLAIN"), 1).error_code == 0
    answer = client.ask(SaslAuthenticateRequest(f"\0al\0{PASSWORD}".encode()), 2)
    assert answer.error_code == 0, answer.error_message
    return answer.session_lifetime_ms


def bare(key: int, version: int) -> bytes:
    return struct.pack(">hhih", key, version, 7, -1) + b"\0"


@pytest.mark.parametrize("when", ["before", "amid"])
def test_no_request_is_answered_without_a_login(broker, when):
    for key, version in EVERY_VERSION:
        if key in OF_A_LOGIN:
            continue
        with RawClient(broker.bootstrap) as client:
            if when == "amid":
                client.greet()
                client.ask(SaslHandshakeRequest("SCRAM-SHA-256"), 1)
            client.send_frame(bare(key, version))
            assert client.is_closed_by_peer(), (key, version)


def test_no_request_is_answered_after_the_end_of_a_login(brief_broker):
    keys = [handler.request.API_KEY for handler in HANDLERS if handler.request.API_KEY != 17]
    with ExitStack() as stack:
        clients = [stack.enter_context(RawClient(brief_broker.bootstrap)) for _ in keys]
        lifetimes = {log_in(client) for client in clients}
        assert lifetimes == {SESSION_MS}
        # The last one to log in is past its end when it is refused, and so are all others.
        while not was_refused(clients[-1]):
            pass
        for key, client in zip(keys[:-1], clients[:-1], strict=True):
            client.send_frame(bare(key, APIS[key].max_version))
            assert client.is_closed_by_peer(), key


def was_refused(client: RawClient) -> bool:
    try:
        client.ask(MetadataRequest(topics=[]), 12)
    except ConnectionError:
        return True
    return False


def test_a_login_may_be_prolonged_past_its_end(brief_broker):
    with RawClient(brief_broker.bootstrap) as client, RawClient(brief_broker.bootstrap) as other:
        log_in(client)
        log_in(other)
        while not was_refused(other):
            pass
        assert log_in(client) == SESSION_MS
        assert client.ask(MetadataRequest(topics=[]), 12).brokers


def test_api_versions_and_mechanisms_are_told(broker):
    with RawClient(broker.bootstrap) as client:
        told = client.ask(ApiVersionsRequest("raw", "1"), 3)
        assert {17, 36} <= {each.api_key for each in told.api_keys}
        shaken = client.ask(SaslHandshakeRequest("GSSAPI"), 0)
        assert shaken.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
        assert shaken.mechanisms == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
        assert client.is_closed_by_peer()


def test_an_old_client_logs_in_without_headers(broker):
    with RawClient(broker.bootstrap) as client:
        client.ask(SaslHandshakeRequest("PLAIN"), 0)
        client.send_frame(f"\0al\0{PASSWORD}".encode())
        assert client.receive_frame() == b""
        assert client.ask(MetadataRequest(topics=[]), 12).brokers


def test_a_login_begins_once(broker):
    with RawClient(broker.bootstrap) as client:
        log_in(client)
        assert client.ask(SaslHandshakeRequest("PLAIN"), 1).error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert client.ask(SaslAuthenticateRequest(b"\0al\0x"), 2).error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert client.ask(MetadataRequest(topics=[]), 12).brokers


@pytest.mark.parametrize("token", [b"\0bo\0x", f"bo\0al\0{PASSWORD}".encode(), b"\0al\0\0", b"\0" * 100, b""])
def test_what_is_no_login(broker, token):
    with RawClient(broker.bootstrap) as client:
        client.ask(SaslHandshakeRequest("PLAIN"), 1)
        answer = client.ask(SaslAuthenticateRequest(token), 2)
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert "bo" not in answer.error_message.split() and client.is_closed_by_peer()


def test_a_large_frame_before_a_login(broker):
    with RawClient(broker.bootstrap) as client:
        client.send(struct.pack(">i", 5000))
        assert client.is_closed_by_peer()


def test_a_crowd_that_never_logs_in_harms_nobody(broker, headrace_topic):
    """Silent ones, ones with half a frame, and ones that begin a login; all are cut off, and work goes on meanwhile."""
    producer = Producer(librdkafka(broker, "SCRAM-SHA-512"))
    host, port = broker.bootstrap.split(":")
    with ExitStack() as stack:
        crowd = [stack.enter_context(socket.create_connection((host, int(port)))) for _ in range(CROWD)]
        for number, stranger in enumerate(crowd):
            if number % 3 == 1:
                stranger.sendall(struct.pack(">i", 4000) + b"x" * 3000)
            elif number % 3 == 2:
                stranger.sendall(struct.pack(">ihhihh", 17, 17, 1, 7, -1, 5) + b"PLAIN")
        for _ in range(20):
            producer.produce(headrace_topic, b"hello")
            assert producer.flush(30) == 0
        for stranger in crowd:
            stranger.settimeout(60)
            try:
                while stranger.recv(1000):
                    pass
            except ConnectionResetError:
                pass
    producer.produce(headrace_topic, b"hello")
    assert producer.flush(30) == 0
