"""Logins that end while they are in use, WebSockets of callers, and https with a certificate that is exchanged."""

import ssl

import httpx
import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from eventually import until
from gateway.gateway_process import SECONDS
from gateway.login.login_world import USERS, basic, gateway_before, librdkafka
from headrace.cli.app import run

AL = basic("al", USERS["al"])


@pytest.fixture
def passing(secured):
    """A user for one test, and how they are taken out."""
    admin, info = AdminClient(librdkafka(secured, "root")), ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    change = UserScramCredentialUpsertion("passing", info, b"soon-gone")
    admin.alter_user_scram_credentials([change])["passing"].result(SECONDS)

    def take_out() -> None:
        gone = UserScramCredentialDeletion("passing", ScramMechanism.SCRAM_SHA_512)
        admin.alter_user_scram_credentials([gone])["passing"].result(SECONDS)

    yield take_out


def test_streams_of_a_user_who_is_taken_out_end(secured, tmp_path, orders, passing):
    gateway = gateway_before(secured, tmp_path, "--set", "login_check_seconds=1").start()
    header = basic("passing", "soon-gone")
    url = f"{gateway.url.replace('http', 'ws')}/api/v1/topics/{orders}/events"
    try:
        with gateway.client() as http:
            until(lambda: http.get(f"/topics/{orders}/messages", headers=header).status_code == 200)
            with connect(url, additional_headers=header, proxy=None) as socket:
                passing()
                with pytest.raises(ConnectionClosed):
                    socket.recv(timeout=SECONDS)
                    socket.recv(timeout=SECONDS)
            until(lambda: http.get(f"/topics/{orders}/messages", headers=header).status_code == 401)
    finally:
        gateway.stop()


def test_a_websocket_needs_a_login(front, orders):
    url = f"{front.url.replace('http', 'ws')}/api/v1/topics/{orders}/events?start=earliest"
    for headers, status in (({}, 401), (basic("al", "wrong"), 401)):
        with pytest.raises(InvalidStatus) as refused, connect(url, additional_headers=headers, proxy=None):
            pass
        assert refused.value.response.status_code == status
    with front.client() as http, connect(url, additional_headers=AL, proxy=None) as socket:
        http.post(f"/topics/{orders}/messages", json={"value": "hello"}, headers=AL).raise_for_status()
        assert '"hello"' in str(socket.recv(timeout=SECONDS))


def serial(port: int) -> str:
    return ssl.get_server_certificate(("127.0.0.1", port), timeout=SECONDS)


def test_https_with_a_certificate_that_is_exchanged(secured, tmp_path, orders):
    folder = tmp_path / "certs"
    assert run(["certs", "create", str(folder)]) == 0
    context = ssl.create_default_context(cafile=folder / "ca.pem")
    gateway = gateway_before(secured, tmp_path, "--set", f"certificate={folder / 'broker.pem'}").start()
    url = f"https://127.0.0.1:{gateway.port}"
    try:
        with httpx.Client(base_url=url, verify=context, trust_env=False, timeout=SECONDS) as http:
            assert http.get(f"/topics/{orders}/messages", headers=AL).status_code == 200
            assert "; Secure" in http.get("/login").headers["set-cookie"]
            before = serial(gateway.port)
            (folder / "broker.pem").write_text("no certificate at all")
            assert serial(gateway.port) == before
            assert run(["certs", "create", str(folder)]) == 0
            until(lambda: serial(gateway.port) != before, seconds=SECONDS)
            assert http.get(f"/topics/{orders}/messages", headers=AL).status_code == 200
        with httpx.Client(base_url=url, verify=context, trust_env=False, timeout=SECONDS) as fresh:
            assert fresh.get("/health").status_code == 200
    finally:
        gateway.stop()
