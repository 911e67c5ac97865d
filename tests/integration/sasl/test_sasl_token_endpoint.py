"""OAUTHBEARER of the command line and our own client: the token comes from an endpoint, by librdkafka's names."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from sasl_brokers import sasl_broker

import headrace
from headrace.cli import app
from headrace.testing.broker import HOST, Broker
from signed_tokens import AUDIENCE, ISSUER, JWKS, token

CLIENT, SECRET, SCOPE = "app", "do-not-show-me", "kafka"


class Endpoint(BaseHTTPRequestHandler):
    """Gives tokens to one client; at another path it sends callers elsewhere."""

    def do_POST(self) -> None:
        fields = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        login = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if self.path == "/moved":
            self._answer(307, b"", Location=f"http://{HOST}:{self.server.server_port}/token")
        elif self.headers["Authorization"] != f"Basic {login}" or fields["grant_type"] != ["client_credentials"]:
            self._answer(401, b"{}")
        else:
            given = token() if fields.get("scope") == [SCOPE] else token(iss="https://other")
            self._answer(200, json.dumps({"access_token": given, "token_type": "bearer", "expires_in": 300}).encode())

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with ThreadingHTTPServer((HOST, 0), Endpoint) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://{HOST}:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    keys = tmp_path_factory.mktemp("keys") / "jwks.json"
    keys.write_bytes(JWKS)
    settings = {
        "sasl.enabled.mechanisms": "OAUTHBEARER,SCRAM-SHA-512",
        "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
    }
    with sasl_broker(tmp_path_factory.mktemp("sasl"), settings) as broker:
        yield broker


@pytest.fixture
def run(broker, endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The command line with a file of settings, of which some are changed."""

    def ran(*words: str, **changes: str) -> tuple[int, str, str]:
        settings = {
            "bootstrap.servers": broker.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": f"{endpoint}/token",
            "sasl.oauthbearer.client.id": CLIENT,
            "sasl.oauthbearer.client.secret": SECRET,
            "sasl.oauthbearer.scope": SCOPE,
        }
        path = tmp_path / "client.properties"
        changed = settings | {f"sasl.oauthbearer.{name.replace('_', '.')}": value for name, value in changes.items()}
        path.write_text("".join(f"{name}={value}\n" for name, value in changed.items()))
        path.chmod(0o600)
        monkeypatch.setenv("HEADRACE_CONFIG", str(path))
        code = app.run(words)
        out, err = capsys.readouterr()
        assert SECRET not in out + err
        return code, out, err

    return ran


def test_commands_with_a_token_of_the_endpoint(run) -> None:
    assert run("topic", "create", "tokens", "--partitions", "1")[0] == 0
    assert "tokens" in run("topic", "list")[1]
    assert run("group", "list")[0] == 0
    assert run("consume", "tokens")[:2] == (0, "")


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ({"client_secret": "wrong"}, 4, "gave no token to app: 401"),
        ({"scope": "other"}, 4, "not right"),
        ({"method": "default"}, 1, "is no file"),
        ({"client_secret": ""}, 1, "oidc needs sasl.oauthbearer.client.secret"),
        ({"token_endpoint_url": f"http://{HOST}:1/token"}, 5, f"http://{HOST}:1/token"),
    ],
)
def test_a_failure_says_why(run, changes, code, said) -> None:
    ran = run("topic", "list", **changes)
    assert (ran[0], said in ran[2]) == (code, True), ran


def test_the_secret_goes_to_the_named_endpoint_alone(run, endpoint) -> None:
    ran = run("topic", "list", token_endpoint_url=f"{endpoint}/moved")
    assert (ran[0], "307" in ran[2]) == (4, True), ran


def test_import_headrace_with_a_token_of_a_file(broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """librdkafka itself reads no file."""
    monkeypatch.delenv("HEADRACE_CONFIG", raising=False)
    file = tmp_path / "token"
    file.write_text(token())
    settings = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": file.as_uri(),
    }
    with headrace.connect(broker.bootstrap, **settings) as client:
        client.create_topic("of-a-file", partitions=1)
        client.produce("of-a-file", "hello")
        assert [message.text for message in client.fetch("of-a-file")] == ["hello"]
