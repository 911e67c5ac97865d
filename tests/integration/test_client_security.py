"""TLS and SASL from Kafka's options, against Apache Kafka."""

import asyncio
import io
import json
import shutil
import subprocess
import time
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

import headrace
from clients.build import MissingTool, java_classpath
from eventually import until
from headrace.base.errors import Refused, UserError
from headrace.cli.run.ports import free_port
from headrace.client.cluster_client import ClusterClient
from headrace.client.connection import Disconnected
from headrace.client.peer import Peer
from headrace.client.security import Sasl, Security, security_from
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.metadata import MetadataRequest, MetadataResponse

START_SECONDS = 180
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
USER, PASSWORD = "app", "secret-1"
SESSION_MS = 3_000
_LOGIN = "org.apache.kafka.common.security"

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


class SecureKafka:
    """One broker with a listener of each kind."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.certificate = home / "certificate.pem"
        self.ports = {name: free_port("127.0.0.1") for name in ("TLS", "SASL", "SASLTLS", "INNER", "CONTROLLER")}
        self._classpath = java_classpath()
        self._make_certificate()
        self._properties().rename(home / "server.properties")
        self._format()
        with (home / "output.log").open("wb") as output:
            self.process = subprocess.Popen(
                self._java("kafka.Kafka", str(home / "server.properties")), stdout=output, stderr=output
            )

    def address(self, listener: str) -> str:
        return f"127.0.0.1:{self.ports[listener]}"

    def until_ready(self) -> None:
        until(self._is_ready, seconds=START_SECONDS, otherwise=self._output)

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, self._output()
        try:
            ask(self.address("INNER"), None)
        except (Disconnected, Refused):
            return False
        return True

    def _output(self) -> str:
        return (self.home / "output.log").read_text()[-3000:]

    def close(self) -> None:
        self.process.kill()
        self.process.wait(30)

    def _make_certificate(self) -> None:
        key, both = self.home / "key.pem", self.home / "server.pem"
        made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=kafka"]
        files = ["-keyout", str(key), "-out", str(self.certificate)]
        subprocess.run([*made, "-addext", "subjectAltName=IP:127.0.0.1", *files], check=True, capture_output=True)
        both.write_text(key.read_text() + self.certificate.read_text())

    def _properties(self) -> Path:
        ports = self.ports
        plain = f'{_LOGIN}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
        scram = f"{_LOGIN}.scram.ScramLoginModule required;"
        lines = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{ports['CONTROLLER']}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "INNER",
            "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
            "listener.security.protocol.map": (
                "TLS:SSL,SASL:SASL_PLAINTEXT,SASLTLS:SASL_SSL,INNER:PLAINTEXT,CONTROLLER:PLAINTEXT"
            ),
            "log.dirs": str(self.home / "data"),
            "offsets.topic.replication.factor": "1",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.home / "server.pem"),
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "listener.name.sasl.sasl.enabled.mechanisms": ",".join((*MECHANISMS, "OAUTHBEARER")),
            # Kafka's own check of tokens that nobody signed, which it has for tests.
            "listener.name.sasl.oauthbearer.sasl.jaas.config": f"{_LOGIN}.oauthbearer.OAuthBearerLoginModule required;",
            "listener.name.sasl.connections.max.reauth.ms": str(SESSION_MS),
        }
        for listener in ("sasl", "sasltls"):
            for mechanism in MECHANISMS:
                login = plain if mechanism == "PLAIN" else scram
                lines[f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config"] = login
        path = self.home / "made.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        return path

    def _format(self) -> None:
        users = []
        for mechanism in MECHANISMS[1:]:
            users += ["--add-scram", f"{mechanism}=[name={USER},password={PASSWORD}]"]
        command = self._java("kafka.tools.StorageTool", "format", "-t", "4L6g3nShT-eMCtK--X86sw")
        subprocess.run([*command, "-c", str(self.home / "server.properties"), *users], check=True, capture_output=True)

    def _java(self, *words: str) -> list[str]:
        return ["java", "-Xmx512m", "-cp", self._classpath, *words]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory):
    if not shutil.which("java") or not shutil.which("openssl"):
        pytest.skip("java and openssl are needed. Fix: apt-get install openjdk-17-jre-headless openssl")
    try:
        kafka = SecureKafka(tmp_path_factory.mktemp("secure-kafka"))
    except MissingTool as missing:
        pytest.skip(str(missing))
    try:
        kafka.until_ready()
        yield kafka
    finally:
        kafka.close()


def ask(address: str, security: Security | None) -> str:
    async def metadata() -> str:
        client = ClusterClient(address, client_id="test", security=security)
        try:
            async with asyncio.timeout(60):
                return (await client.metadata()).cluster_id
        finally:
            await client.close()

    return asyncio.run(metadata())


def sasl(protocol: str, mechanism: str, password: str = PASSWORD) -> dict[str, str]:
    return {
        "security.protocol": protocol,
        "sasl.mechanism": mechanism,
        "sasl.username": USER,
        "sasl.password": password,
    }


def test_tls_with_the_certificate_it_should_be(kafka):
    options = {"security.protocol": "SSL", "ssl.ca.location": str(kafka.certificate)}
    assert ask(kafka.address("TLS"), security_from(options))
    with pytest.raises(Disconnected, match="certificate verify failed"):
        ask(kafka.address("TLS"), security_from({"security.protocol": "SSL"}))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_with_and_without_tls(kafka, mechanism):
    assert ask(kafka.address("SASL"), security_from(sasl("SASL_PLAINTEXT", mechanism)))
    tls = {**sasl("SASL_SSL", mechanism), "ssl.ca.location": str(kafka.certificate)}
    assert ask(kafka.address("SASLTLS"), security_from(tls))
    with pytest.raises(Refused) as refused:
        ask(kafka.address("SASL"), security_from(sasl("SASL_PLAINTEXT", mechanism, "wrong")))
    assert refused.value.code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert f"user {USER}" in refused.value.message


def unsigned_token(seconds: int) -> str:
    now = int(time.time())
    parts = {"alg": "none"}, {"sub": USER, "iat": now, "exp": now + seconds}
    return ".".join([*(urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in parts), ""])


def test_a_token_of_a_file(kafka, tmp_path):
    file = tmp_path / "token"
    options = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
    security = security_from({**options, "sasl.oauthbearer.token.endpoint.url": file.as_uri()})
    file.write_text(unsigned_token(600))
    assert ask(kafka.address("SASL"), security)
    file.write_text(unsigned_token(-600))
    with pytest.raises(Refused) as refused:
        ask(kafka.address("SASL"), security)
    assert refused.value.code == ErrorCode.SASL_AUTHENTICATION_FAILED


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "OAUTHBEARER"])
def test_a_login_is_renewed_on_the_same_connection(kafka, mechanism):
    """Kafka closes a connection whose login is over, with the next request: one that goes on was renewed."""
    given: list[str] = []

    def give() -> str:
        given.append(unsigned_token(600))
        return given[-1]

    by_token = mechanism == "OAUTHBEARER"
    sasl = Sasl(mechanism, "", "", give) if by_token else Sasl(mechanism, USER, PASSWORD)

    async def go_on() -> None:
        host, _, port = kafka.address("SASL").rpartition(":")
        peer = await Peer.open((host, int(port)), "test", Security(None, sasl))
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            while loop.time() < begun + 3 * SESSION_MS / 1000:
                asked = [peer.ask(MetadataRequest(topics=[]), MetadataResponse) for _ in range(2)]
                assert all(each.cluster_id for each in await asyncio.gather(*asked))
        finally:
            peer.connection.close()

    asyncio.run(go_on())
    assert len(given) >= 3 or not by_token


def test_the_java_clients_spelling(kafka):
    jaas = f'{_LOGIN}.scram.ScramLoginModule required username="{USER}" password="{PASSWORD}";'
    options = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": jaas}
    assert ask(kafka.address("SASL"), security_from(options))


@pytest.fixture
def run(kafka, tmp_path, monkeypatch, capsys):
    """The command line with a file for the listener that wants TLS and a password."""
    from headrace.cli import app

    path = tmp_path / "client.properties"
    settings = {**sasl("SASL_SSL", "SCRAM-SHA-512"), "ssl.ca.location": str(kafka.certificate)}
    settings["bootstrap.servers"] = kafka.address("SASLTLS")
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    path.chmod(0o600)
    monkeypatch.setenv("HEADRACE_CONFIG", str(path))

    def ran(*words, text="", **changes):
        for name, value in changes.items():
            path.write_text(path.read_text().replace(settings[name.replace("_", ".")], value))
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        code = app.run(words)
        out, err = capsys.readouterr()
        return code, out, err

    return ran


def test_the_command_line_with_a_file_of_settings(kafka, run, tmp_path):
    assert run("topic", "create", "cli", "--partitions", "1")[0] == 0
    assert run("produce", "cli", text="hello\n")[0] == 0
    assert run("consume", "cli") == (0, "hello\n", "")
    assert run("consume", "cli", "--group", "readers")[1] == "hello\n"
    assert "readers" in run("group", "list")[1]
    assert json.loads(run("cluster", "status", "--json")[1])["brokers"]
    assert run("txn", "list")[0] == run("config", "get")[0] == run("doctor")[0] == 0
    assert run("backup", "create", str(tmp_path / "backup"), "--topics", "cli")[0] == 0
    assert run("topic", "delete", "cli", "--yes")[0] == 0


def test_import_headrace_with_a_file_of_settings(kafka, run):
    with headrace.connect() as client:
        client.create_topic("api", partitions=1)
        assert client.produce("api", "hello").offset == 0
        assert [message.text for message in client.fetch("api")] == ["hello"]


def test_a_wrong_password_is_told_at_once_and_never_shown(kafka, run):
    for words in (["topic", "list"], ["cluster", "status", "--json"], ["produce", "cli"]):
        code, out, err = run(*words, sasl_password="do-not-show-me")
        assert (code, out) == (4, "")
        assert "invalid credentials" in err
        assert f"user {USER}" in err
        assert "do-not-show-me" not in err


def test_no_file_at_a_door_that_wants_one(kafka, run, monkeypatch):
    monkeypatch.delenv("HEADRACE_CONFIG")
    for listener in ("SASLTLS", "SASL", "TLS"):
        code, _, err = run("topic", "list", "--bootstrap", kafka.address(listener))
        assert (code, "--client-config" in err) == (5, True)


def test_a_certificate_that_is_not_trusted(kafka, run, tmp_path):
    """Nobody is told the password: TLS ends before the login begins."""
    other = tmp_path / "other.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=other"]
    subprocess.run([*made, "-keyout", str(tmp_path / "key.pem"), "-out", str(other)], check=True, capture_output=True)
    code, _, err = run("topic", "list", ssl_ca_location=str(other))
    assert (code, "certificate verify failed" in err, "ssl.ca.location" in err) == (5, True, True)


def test_nobody_at_a_door_with_tls(kafka, run):
    code, _, err = run("topic", "list", "--bootstrap", f"127.0.0.1:{free_port('127.0.0.1')},{kafka.address('SASLTLS')}")
    assert (code, err) == (0, "")
    code, _, err = run("topic", "list", "--bootstrap", f"127.0.0.1:{free_port('127.0.0.1')}")
    assert (code, "no broker answers" in err) == (5, True)


def test_a_plain_client_at_a_door_that_is_not(kafka):
    with pytest.raises(Disconnected):
        ask(kafka.address("TLS"), None)


def test_quotes_in_a_java_password():
    jaas = 'x.PlainLoginModule required username=\'app\' password="a\\"b\\\\c";'
    security = security_from(
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}
    )
    assert security is not None and security.sasl is not None
    assert (security.sasl.username, security.sasl.password) == ("app", 'a"b\\c')


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"security.protocol": "TELNET"}, "security.protocol=TELNET does not exist"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI"}, "sasl.mechanism=GSSAPI is not offered"),
        ({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}, "needs a user name and a password"),
        ({"security.protocol": "SSL", "ssl.ca.location": "/nowhere"}, "the TLS options cannot be used"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "trust.jks"}, "is a Java format"),
    ],
)
def test_options_that_cannot_be_used(options, said):
    with pytest.raises(UserError, match=said):
        security_from(options)
