"""Users made, listed and deleted: by the command line, by Kafka's own tools, by other admin clients; and logged in as."""

import json
import subprocess
import sys

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from sasl_brokers import PASSWORD, add_users, java_properties, librdkafka, sasl_broker

from clients import console
from clients.build import MissingTool, java_classpath
from eventually import until

WAIT_SECONDS = 30


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    data = tmp_path_factory.mktemp("sasl")
    add_users(data, "admin")
    # Files of properties are Latin-1 to Java.
    add_users(data, "java-admin", password="ascii")
    with sasl_broker(data, {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"}) as broker:
        yield broker


@pytest.fixture(scope="module")
def properties(tmp_path_factory):
    def of(user: str, password: str, mechanism: str = "SCRAM-SHA-512") -> str:
        return java_properties(tmp_path_factory.mktemp("client") / "client.properties", user, password, mechanism)

    return of


@pytest.fixture
def cli(broker, tmp_path):
    login = tmp_path / "admin.properties"
    login.write_text(
        "".join(f"{name}={value}\n" for name, value in librdkafka(broker, "SCRAM-SHA-256", "admin").items())
    )

    def run(*words: str, stdin: str = "", code: int = 0) -> str:
        command = [sys.executable, "-m", "headrace.cli", *words, "--client-config", str(login)]
        bootstrap = ["--bootstrap", broker.bootstrap]
        ran = subprocess.run(
            [*command, *bootstrap], input=stdin, capture_output=True, text=True, timeout=60, check=False
        )
        assert ran.returncode == code, (ran.stdout, ran.stderr)
        assert PASSWORD not in ran.stdout + ran.stderr and "first" not in ran.stdout + ran.stderr
        return ran.stdout if "--json" in words else ran.stdout + ran.stderr

    return run


def may_log_in(broker, mechanism: str, user: str, password: str) -> bool:
    errors = []
    client = AdminClient({**librdkafka(broker, mechanism, user, password), "error_cb": errors.append})
    try:
        return bool(client.list_topics(timeout=5).brokers)
    except Exception:
        return False


def test_the_command_line(broker, cli, tmp_path):
    assert "logs in with" in cli("user", "add", "zoe", "--password-file", "-", stdin="first\n")
    listed = {each["user"]: each["mechanisms"] for each in json.loads(cli("user", "list", "--json"))}
    assert listed["zoe"] == ["SCRAM-SHA-256", "SCRAM-SHA-512"]
    assert may_log_in(broker, "SCRAM-SHA-512", "zoe", "first")
    assert "list of processes" not in cli("user", "list")
    assert "lists the processes" in cli("user", "add", "zoe", "--password", "2nd", "--mechanism", "scram-sha-256")
    assert may_log_in(broker, "SCRAM-SHA-256", "zoe", "2nd")
    assert not may_log_in(broker, "SCRAM-SHA-256", "zoe", "first")
    assert "deleted user zoe" in cli("user", "delete", "zoe")
    assert "there is no user 'zoe'" in cli("user", "delete", "zoe", code=3)
    assert not may_log_in(broker, "SCRAM-SHA-256", "zoe", "2nd")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["zoe"], "--password-file"),
        (["zoe", "--password", "x", "--password-file", "-"], "both given"),
        (["zoe", "--password", ""], "empty"),
        (["zoe", "--password-file", "/nowhere"], "cannot be read"),
        (["zoe", "--password", "x", "--mechanism", "PLAIN"], "PLAIN is not known"),
        (["zoe", "--password", "x", "--store", "a", "--data", "b"], "both name a store"),
    ],
)
def test_wrong_usage_of_the_command_line(cli, words, told):
    assert told in cli("user", "add", *words, code=2)


def test_librdkafka_as_admin(broker):
    admin = AdminClient(librdkafka(broker, "SCRAM-SHA-256", "admin"))
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 5000)
    made = admin.alter_user_scram_credentials([UserScramCredentialUpsertion("rd", info, b"first")])
    made["rd"].result(WAIT_SECONDS)
    described = admin.describe_user_scram_credentials(["rd"])["rd"].result(WAIT_SECONDS)
    assert [(each.mechanism, each.iterations) for each in described.scram_credential_infos] == [
        (ScramMechanism.SCRAM_SHA_256, 5000)
    ]
    assert may_log_in(broker, "SCRAM-SHA-256", "rd", "first") and may_log_in(broker, "PLAIN", "rd", "first")
    everybody = admin.describe_user_scram_credentials(None).result(WAIT_SECONDS)
    assert {"admin", "rd"} <= everybody.keys()
    gone = admin.alter_user_scram_credentials([UserScramCredentialDeletion("rd", ScramMechanism.SCRAM_SHA_256)])
    gone["rd"].result(WAIT_SECONDS)
    assert not may_log_in(broker, "SCRAM-SHA-256", "rd", "first")


def test_a_change_is_known_with_the_next_login_and_ends_no_connection(broker, cli, headrace_topic):
    cli("user", "add", "pat", "--password-file", "-", stdin="first")
    producer = Producer(librdkafka(broker, "SCRAM-SHA-512", "pat", "first"))
    producer.produce(headrace_topic, b"before")
    assert producer.flush(WAIT_SECONDS) == 0
    cli("user", "delete", "pat")
    assert not may_log_in(broker, "SCRAM-SHA-512", "pat", "first")
    producer.produce(headrace_topic, b"after")
    assert producer.flush(WAIT_SECONDS) == 0


def test_many_changes_of_users_disturb_nobody(broker, headrace_topic):
    admin = AdminClient(librdkafka(broker, "SCRAM-SHA-256", "admin"))
    errors = []
    producer = Producer({**librdkafka(broker, "SCRAM-SHA-512", "admin"), "error_cb": errors.append})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    sent = []
    for number in range(20):
        made = admin.alter_user_scram_credentials(
            [UserScramCredentialUpsertion(f"u{number}-{each}", info, b"first") for each in range(10)]
        )
        producer.produce(headrace_topic, b"hello", on_delivery=lambda error, _: sent.append(error))
        assert producer.flush(WAIT_SECONDS) == 0
        for each in made.values():
            each.result(WAIT_SECONDS)
    assert sent == [None] * 20 and not errors
    assert may_log_in(broker, "SCRAM-SHA-512", "u19-9", "first") and may_log_in(broker, "PLAIN", "u0-0", "first")


@pytest.fixture
def tool(broker, properties):
    try:
        java_classpath()
    except MissingTool as missing:
        pytest.skip(str(missing))
    return lambda name, *options, **rest: console.run(broker.bootstrap, name, *options, **rest)


@pytest.mark.parametrize("mechanism", [pytest.param("SCRAM-SHA-256", marks=pytest.mark.long), "SCRAM-SHA-512"])
def test_kafka_configs_and_the_java_client(tool, properties, headrace_topic, mechanism):
    admin = ["--command-config", properties("java-admin", "ascii")]
    whom = ["--entity-type", "users", "--entity-name", "jo"]
    tool(console.CONFIGS, *admin, "--alter", "--add-config", f"{mechanism}=[iterations=4096,password=pw-x]", *whom)
    own = properties("jo", "pw-x", mechanism)
    tool(console.PRODUCER, "--topic", headrace_topic, "--command-config", own, stdin="hello\n")
    read = ["--topic", headrace_topic, "--from-beginning", "--max-messages", "1", "--timeout-ms", "30000"]
    assert tool(console.CONSUMER, *read, "--command-config", properties("jo", "pw-x", "PLAIN")) == "hello\n"
    tool(console.CONFIGS, *admin, "--alter", "--delete-config", mechanism, *whom)
    refused = tool(console.TOPICS, "--list", "--command-config", own, expect=1)
    assert "SaslAuthenticationException" in refused or "refused" in refused


def test_kafka_configs_describes_users(tool, properties):
    """It asks for the quotas of users too, of which there are none."""
    describe = ["--command-config", properties("java-admin", "ascii"), "--describe", "--entity-type", "users"]
    told = tool(console.CONFIGS, *describe, "--entity-name", "java-admin")
    assert told.startswith("SCRAM credential configs for user-principal 'java-admin' are SCRAM-SHA-256=iterations=")
    assert told.strip() in tool(console.CONFIGS, *describe)


def test_nobody_can_tell_who_exists(broker):
    """Until the end of SCRAM a stranger sees the same of a user who exists and of one who does not."""
    until(lambda: may_log_in(broker, "SCRAM-SHA-256", "admin", PASSWORD))
    from clients.raw import RawClient
    from headrace.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

    def first_answer(user: str) -> dict[str, str]:
        with RawClient(broker.bootstrap) as client:
            client.ask(SaslHandshakeRequest("SCRAM-SHA-256"), 1)
            answer = client.ask(SaslAuthenticateRequest(f"n,,n={user},r=abc".encode()), 2)
            assert answer.error_code == 0
            return dict(part.split("=", 1) for part in bytes(answer.auth_bytes).decode().split(","))

    admin, nobody, again = first_answer("admin"), first_answer("nobody"), first_answer("nobody")
    assert nobody["s"] == again["s"] != admin["s"] and nobody["r"] != again["r"]
    assert (len(nobody["s"]), nobody["i"]) == (len(admin["s"]), admin["i"])
