"""Logins over TLS: clients, strangers, and keys of tokens from an https address."""

import asyncio
import http.server
import ssl
import threading
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from sasl_brokers import BROKER, add_users, librdkafka, python_client

from clients.raw import RawClient
from headrace.cli.app import run
from headrace.cli.run.ports import free_port
from headrace.testing.broker import HOST, Broker
from headrace.wire.apis import APIS
from headrace.wire.messages.metadata import MetadataRequest
from headrace.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from kafka import KafkaProducer
from signed_tokens import AUDIENCE, ISSUER, JWKS, token

WAIT_SECONDS = 30
PASSWORD = "secret"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("certificates") / "made"
    assert run(["certs", "create", str(folder), "--host", HOST]) == 0
    return folder


class Keys(http.server.BaseHTTPRequestHandler):
    """An identity provider: its keys at /keys, and elsewhere an address that sends on to another."""

    def do_GET(self) -> None:
        found = self.path == "/keys"
        self.send_response(200 if found else 302)
        self.send_header("Location", "/keys")
        self.end_headers()
        self.wfile.write(JWKS if found else b"")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def issuer(certificates):
    server = http.server.ThreadingHTTPServer((HOST, 0), Keys)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "broker.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"https://{HOST}:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def start(tmp_path_factory, certificates, issuer):
    def started(path: str = "/keys") -> Broker:
        data, port = tmp_path_factory.mktemp("sasl"), free_port(HOST)
        add_users(data, "al", BROKER, password=PASSWORD)
        settings = {
            "listeners": f"OUT://{HOST}:{port}",
            "listener.security.protocol.map": "OUT:SASL_SSL",
            "ssl.keystore.location": str(certificates / "broker.pem"),
            "ssl.truststore.location": str(certificates / "ca.pem"),
            "listener.name.out.scram-sha-512.sasl.jaas.config": (
                f'ScramLoginModule required username="{BROKER}" password="{PASSWORD}";'
            ),
            "sasl.enabled.mechanisms": ",".join([*MECHANISMS, "OAUTHBEARER"]),
            "sasl.oauthbearer.jwks.endpoint.url": f"{issuer}{path}",
            "sasl.oauthbearer.expected.issuer": ISSUER,
            "sasl.oauthbearer.expected.audience": AUDIENCE,
        }
        return Broker(settings, data=data, port=port)

    return started


@pytest.fixture(scope="module")
def broker(start, certificates):
    with pytest.MonkeyPatch.context() as patch:
        # Whom a broker trusts as an https address is the machine's choice.
        patch.setenv("SSL_CERT_FILE", str(certificates / "ca.pem"))
        with start() as broker:
            yield broker


def librdkafka_over_tls(broker, certificates, mechanism: str) -> dict[str, object]:
    tls = {"security.protocol": "SASL_SSL", "ssl.ca.location": str(certificates / "ca.pem")}
    return {**librdkafka(broker, mechanism, password=PASSWORD), **tls}


def sent_by(producer: Producer, topic: str) -> None:
    producer.produce(topic, b"hello")
    assert producer.flush(WAIT_SECONDS) == 0


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka(broker, certificates, headrace_topic, mechanism):
    sent_by(Producer(librdkafka_over_tls(broker, certificates, mechanism)), headrace_topic)


def test_librdkafka_with_a_token_whose_key_is_at_an_https_address(broker, certificates, headrace_topic):
    login = librdkafka_over_tls(broker, certificates, "OAUTHBEARER")
    login = {name: value for name, value in login.items() if name not in ("sasl.username", "sasl.password")}
    sent_by(Producer({**login, "oauth_cb": lambda _: (token(), 4e9, "al", {})}), headrace_topic)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python(broker, certificates, headrace_topic, mechanism):
    login = {**python_client(broker, mechanism, password=PASSWORD), "security_protocol": "SASL_SSL"}
    producer = KafkaProducer(**login, ssl_cafile=str(certificates / "ca.pem"))
    producer.send(headrace_topic, b"hello").get(WAIT_SECONDS)
    producer.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_aiokafka(broker, certificates, headrace_topic, mechanism):
    login = {**python_client(broker, mechanism, password=PASSWORD), "security_protocol": "SASL_SSL"}

    async def send() -> None:
        context = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
        async with AIOKafkaProducer(**login, ssl_context=context) as producer:
            await producer.send_and_wait(headrace_topic, b"hello")

    asyncio.run(send())


class RawTlsClient(RawClient):
    def __init__(self, bootstrap: str, authority: Path) -> None:
        super().__init__(bootstrap)
        context = ssl.create_default_context(cafile=str(authority))
        self.socket = context.wrap_socket(self.socket, server_hostname=HOST)

    def is_closed_by_peer(self) -> bool:
        try:
            return super().is_closed_by_peer()
        except ssl.SSLEOFError:
            return True


def test_no_request_is_answered_without_a_login(broker, certificates):
    for api in APIS.values():
        for amid in (False, True) if api.key not in (17, 18, 36) else ():
            with RawTlsClient(broker.bootstrap, certificates / "ca.pem") as client:
                if amid:
                    client.ask(SaslHandshakeRequest("SCRAM-SHA-256"), 1)
                client.send_frame(api.key.to_bytes(2, "big") + api.max_version.to_bytes(2, "big") + bytes(8))
                assert client.is_closed_by_peer(), (api, amid)


def test_a_login_and_a_refusal_are_told(broker, certificates):
    for password in ("wrong", PASSWORD):
        with RawTlsClient(broker.bootstrap, certificates / "ca.pem") as client:
            client.ask(SaslHandshakeRequest("PLAIN"), 1)
            answer = client.ask(SaslAuthenticateRequest(f"\0al\0{password}".encode()), 2)
            assert (answer.error_code == 0) == (password == PASSWORD)
            if password == PASSWORD:
                assert client.ask(MetadataRequest(topics=[]), 12).brokers
            else:
                assert client.is_closed_by_peer()


def test_keys_are_not_read_from_another_address_nor_from_one_that_is_not_trusted(start, certificates, monkeypatch):
    from headrace.base.errors import UserError

    for path, authority, told in (("/other", "ca.pem", "302"), ("/keys", "", "CERTIFICATE_VERIFY_FAILED")):
        if authority:
            monkeypatch.setenv("SSL_CERT_FILE", str(certificates / authority))
        else:
            monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(UserError, match=told), start(path):
            pass
