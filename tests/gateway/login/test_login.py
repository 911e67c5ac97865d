"""Callers before brokers that ask for logins: who they are is asked of a broker, and nobody else is served anything."""

import contextlib
import socket

import httpx
import pytest

from gateway.gateway_process import SECONDS, GatewayProcess
from gateway.login.login_world import MECHANISMS, USERS, basic, client_file, gateway_before, secured_broker
from signed_tokens import AUDIENCE, ISSUER, JWKS, STRANGE_KEY, token

AL, BO = ("al", USERS["al"]), ("bo", USERS["bo"])
OPEN = {"/health", "/ready", "/login", "/favicon.ico"}
PAGES = ["/", "/docs", "/ui/topics", "/ui/topics/orders", "/ui/messages", "/ui/webhooks"]


@pytest.fixture
def http(front):
    with front.client() as client:
        yield client


def test_messages_are_written_and_read_as_their_caller(http, orders):
    path = f"/topics/{orders}/messages"
    written = http.post(path, json={"value": "hello"}, headers=basic(*AL))
    assert written.status_code == 200, written.text
    long = http.get(f"/api/v1/topics/{orders}/partitions/0/messages", headers=basic(*BO))
    assert [each["value"] for each in long.json()["messages"]] == ["hello"]
    lines = b'{"value": "a"}\n{"value": "b"}\n'
    streamed = http.post(path, content=lines, headers={**basic(*AL), "Content-Type": "application/x-ndjson"})
    assert streamed.json() == {"stored": 2} or streamed.status_code == 200, streamed.text


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism(secured, tmp_path, orders, mechanism):
    gateway = gateway_before(secured, tmp_path, mechanism=mechanism).start()
    try:
        with gateway.client() as http:
            assert http.get(f"/topics/{orders}/messages", headers=basic(*AL)).status_code == 200
            refused = http.get(f"/topics/{orders}/messages", headers=basic("al", "wrong"))
            assert refused.status_code == 401, refused.text
    finally:
        gateway.stop()


@pytest.mark.parametrize(
    "header",
    [
        "Basic",
        "Basic !!!",
        "Basic YWw=",
        "Basic YWw6",
        "Basic OnNlY3JldA==",
        "Digest x",
        "Bearer",
        "Bearer a b",
    ],
)
def test_what_is_no_login_is_refused_without_asking(http, orders, header):
    reply = http.get(f"/topics/{orders}/messages", headers={"Authorization": header})
    assert reply.status_code == 401
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.headers["www-authenticate"].startswith("Basic realm=")


def every_path(http: httpx.Client) -> list[tuple[str, str]]:
    paths = http.get("/openapi.json", headers=basic(*AL)).json()["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in methods]


def test_no_path_serves_a_stranger(http):
    walked = every_path(http)
    assert len(walked) > 40
    for method, path in walked:
        filled = path.replace("{", "").replace("}", "").replace("partition", "0").replace("broker", "1")
        reply = http.request(method, filled, headers={"Accept": "text/html"})
        if path in OPEN:
            assert reply.status_code == 200, (method, path)
            continue
        assert reply.status_code == 401, (method, path, reply.text)
        assert reply.json()["type"] == "urn:headrace:not-logged-in", (method, path)


def test_no_page_serves_a_stranger(http):
    for path in PAGES:
        reply = http.get(path, headers={"Accept": "text/html"})
        assert reply.status_code == 303, (path, reply.text)
        assert reply.headers["location"].startswith("/login")
        assert http.get(path).status_code == 401
    for path in ("/_nicegui/x", "/_nicegui_ws/socket.io/?EIO=4&transport=polling", "/openapi.json", "/ui", "/nothing"):
        assert http.get(path).status_code == 401, path
    assert http.post("/logout").status_code == 401


def test_what_is_open_says_little(http):
    assert http.get("/health").json() == {"status": "ok"}
    assert http.get("/ready").json() == {
        "status": "ready",
        "brokers": None,
        "controller": None,
        "partitions_without_leader": None,
    }


def test_no_broker_is_503_and_not_401(tmp_path, secured):
    gateway = gateway_before(secured, tmp_path)
    gateway.bootstrap = "127.0.0.1:1"
    gateway.start()
    try:
        with gateway.client() as http:
            reply = http.get("/api/v1/topics", headers=basic(*AL))
            assert reply.status_code == 503, reply.text
            strange = http.get("/ready")
            assert strange.status_code == 503
            # A stranger is not told where brokers are.
            assert "127.0.0.1" not in reply.text + strange.text
    finally:
        gateway.stop()


def test_guesses_are_bounded_and_known_callers_are_served_on(secured, tmp_path, orders):
    gateway = gateway_before(secured, tmp_path).start()
    path = f"/topics/{orders}/messages"
    try:
        with gateway.client() as http:
            assert http.get(path, headers=basic(*AL)).status_code == 200
            told = [http.get(path, headers=basic("al", f"guess-{number}")).status_code for number in range(15)]
            assert set(told) == {401, 429}, told
            assert told[0] == 401 and told[-1] == 429
            refused = http.get(path, headers=basic(*BO))
            assert refused.status_code == 429 and int(refused.headers["retry-after"]) > 0
            assert http.get(path, headers=basic(*AL)).status_code == 200
    finally:
        gateway.stop()


def test_bodies_of_strangers_leave_callers_their_room(secured, tmp_path, orders):
    gateway = gateway_before(secured, tmp_path, "--set", "in_flight_bytes_max=300000").start()
    head = b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 290000\r\n\r\n"
    try:
        with gateway.client() as http, contextlib.ExitStack() as slow:
            for path in (b"/login", b"/health", b"/favicon.ico"):
                stranger = slow.enter_context(socket.create_connection(("127.0.0.1", gateway.port)))
                stranger.sendall(head % path)
                with contextlib.suppress(OSError):
                    stranger.sendall(b"x" * 280_000)
                told = http.post(f"/topics/{orders}/messages", json={"value": "x" * 100_000}, headers=basic(*AL))
                assert told.status_code == 200, (path, told.text)
            assert http.post("/login", content=b"x" * 100_000).status_code == 413
    finally:
        gateway.stop()


@pytest.mark.parametrize(
    "form", ["name=al", "&".join(f"a{number}=1" for number in range(11)), "secret", "name=al&secret="]
)
def test_an_odd_form_is_no_fault(http, form):
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    http.get("/login")
    token = http.cookies["headrace-login"]
    reply = http.post("/login", content=f"form={token}&{form}", headers=kind)
    assert reply.status_code in (400, 401), reply.text


def test_two_logins_in_one_request_are_none(http, orders):
    both = [("Authorization", basic(*each)["Authorization"]) for each in (AL, BO)]
    assert http.get(f"/topics/{orders}/messages", headers=both).status_code == 401


def test_sessions_and_streams_belong_to_their_login(http, orders):
    http.post(f"/topics/{orders}/messages", json={"value": "hello"}, headers=basic(*AL)).raise_for_status()
    group = f"/api/v1/consumer-groups/g-{orders}/sessions"
    opened = http.post(group, json={"topics": [orders]}, headers=basic(*AL))
    assert opened.status_code == 201, opened.text
    session = f"{group}/{opened.json()['session']}"
    assert http.get(session, headers=basic(*BO)).status_code == 404
    assert http.get(group, headers=basic(*BO)).json()["sessions"] == []
    polled = http.get(f"{session}/messages?wait_ms=10000", headers=basic(*AL)).json()
    assert [each["value"] for each in polled["messages"]] == ["hello"]
    assert http.delete(session, headers=basic(*AL)).status_code == 204
    with http.stream(
        "GET", f"/api/v1/topics/{orders}/events?start=earliest", headers=basic(*AL), timeout=SECONDS
    ) as events:
        assert any('"hello"' in line for line in events.iter_lines() if line.startswith("data"))


def test_what_needs_a_login_of_the_gateway_says_so(http):
    assert http.get("/api/v1/webhooks", headers=basic(*AL)).status_code == 503
    assert http.get("/api/v1/alerts", headers=basic(*AL)).status_code == 503
    assert http.get("/metrics", headers=basic(*AL)).status_code == 200


def test_one_holder_cannot_take_all_pages_of_the_ui(secured, tmp_path):
    running = gateway_before(secured, tmp_path, "--set", "ui_pages_max=4").start()
    try:
        with running.client() as http:
            seen = [http.get("/ui/topics", headers=basic(*who)).status_code for who in (AL, AL, BO)]
            assert seen == [200, 429, 200]
    finally:
        running.stop()


def test_one_login_for_everybody_has_to_be_asked_for(secured, tmp_path, orders):
    settings = client_file(tmp_path / "root.properties", user="root")
    words = ("--client-config", str(settings))
    for more, status in (((), 401), (("--set", "login=gateway"), 200)):
        gateway = GatewayProcess(secured.bootstrap, *words, *more).start()
        try:
            with gateway.client() as http:
                assert http.get(f"/topics/{orders}/messages").status_code == status
        finally:
            gateway.stop()


def test_bearer_tokens_are_passed_on(tmp_path):
    keys = tmp_path / "jwks.json"
    keys.write_bytes(JWKS)
    data = tmp_path / "data"
    data.mkdir()
    settings = {
        "sasl.enabled.mechanisms": "OAUTHBEARER,SCRAM-SHA-512",
        "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "auto.create.topics.enable": "true",
    }
    good, bad = ({"Authorization": f"Bearer {each}"} for each in (token(), token(STRANGE_KEY)))
    with secured_broker(data, settings) as broker:
        gateway = gateway_before(broker, tmp_path, mechanism="OAUTHBEARER").start()
        try:
            with gateway.client() as http:
                written = http.post("/topics/tokens/messages", json={"value": "hello"}, headers=good)
                assert written.status_code == 200, written.text
                path = "/api/v1/topics/tokens/events?start=earliest"
                with http.stream("GET", path, headers=good, timeout=SECONDS) as events:
                    assert any('"hello"' in line for line in events.iter_lines())
                opened = http.post("/api/v1/consumer-groups/g/sessions", json={"topics": ["tokens"]}, headers=good)
                polled = http.get(f"{opened.headers['location']}/messages?wait_ms=20000", headers=good).json()
                assert [each["value"] for each in polled["messages"]] == ["hello"], polled
                for header in (bad, basic(*AL)):
                    refused = http.get("/topics/tokens/messages", headers=header)
                    assert refused.status_code == 401, refused.text
                    assert refused.headers["www-authenticate"] == 'Bearer realm="headrace"'
        finally:
            gateway.stop()
