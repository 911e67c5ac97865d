"""Webhooks of `headrace up --secure`: who may read a topic subscribes a URL with his own login, and it is delivered."""

import base64
import json
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from secured import HOST, SECONDS, Ran, SecuredUp

import headrace
from eventually import until
from gateway.receiver import Receiver
from headrace.client.properties import read_properties

PASSWORD = "alice-knows-it"
ALICES = (
    "--read --topic orders",
    "--read --group webhook.alice.*",
    "--read --write --topic orders.dead-letters",
)


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredUp]:
    home = tmp_path_factory.mktemp("secured")
    file = home / "headrace.toml"
    file.write_text('[gateway]\nwebhook_networks = "127.0.0.0/8"\n')
    running = SecuredUp(home, f"--config={file}").start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def url(up: SecuredUp) -> str:
    found = str(up.serving["gateway"]["url"])
    until(lambda: up.cli("webhook", "list", "--gateway", found).code == 0, seconds=SECONDS)
    return found


@pytest.fixture(scope="module")
def alice(up: SecuredUp) -> Path:
    for topic in ("orders", "orders.dead-letters"):
        assert up.cli("topic", "create", topic).code == 0
    file = up.add_user("alice", PASSWORD)
    for rule in ALICES:
        assert up.cli("acl", "allow", "--user", "alice", *rule.split()).code == 0
    return file


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    running = Receiver(tmp_path).start()
    yield running
    running.kill()


def arrives(up: SecuredUp, receiver: Receiver, value: str) -> None:
    assert up.cli("produce", "orders", stdin=f"{value}\n").code == 0
    receiver.until(lambda messages: value in {each["value"] for each in messages})


def trusted(up: SecuredUp) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=up.admin["ssl.ca.location"])


def webhook(up: SecuredUp, url: str, *words: str, as_user: Path | None = None) -> Ran:
    return up.cli("webhook", *words, "--gateway", url, as_user=as_user)


def test_by_the_command_line(up: SecuredUp, url: str, alice: Path, receiver: Receiver) -> None:
    made = webhook(up, url, "add", "orders", receiver.url, "--json", as_user=alice)
    assert made.code == 0, made.err
    arrives(up, receiver, "by a command")
    id = json.loads(made.out)["id"]
    assert json.loads(webhook(up, url, "list", "--json", as_user=alice).out)[0]["owner"] == "alice"
    assert webhook(up, url, "delete", id, "--yes", as_user=alice).code == 0


def test_by_python(up: SecuredUp, url: str, alice: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CONFIG", str(alice))
    with headrace.connect(gateway=url) as client:
        made = client.subscribe(receiver.url, "orders")
    assert made.group == f"webhook.alice.{made.id}"
    arrives(up, receiver, "by Python")


def test_by_rest(up: SecuredUp, url: str, alice: Path, receiver: Receiver) -> None:
    asked = {"topic": "orders", "callback_url": receiver.url}
    with httpx.Client(base_url=url, verify=trusted(up), trust_env=False, timeout=SECONDS) as http:
        assert http.post("/api/v1/webhooks", json=asked).status_code == 401
        made = http.post("/api/v1/webhooks", json=asked, auth=("alice", PASSWORD))
    assert made.status_code == 201, made.text
    arrives(up, receiver, "by REST")


def test_who_may_not_read_subscribes_nothing(up: SecuredUp, url: str, alice: Path) -> None:
    bob = up.add_user("bob", "bob-knows-it")
    refused = webhook(up, url, "add", "orders", f"http://{HOST}:9/hook", as_user=bob)
    assert (refused.code, "orders" in refused.err) == (4, True), refused


def test_a_login_that_is_wrong_or_missing_is_told(up: SecuredUp, url: str, tmp_path: Path) -> None:
    wrong = webhook(up, url, "list", as_user=up.user_file("alice", "not-this-one"))
    up.user_file("alice", PASSWORD)
    assert (wrong.code, "sasl.password" in wrong.err, "not-this-one" in wrong.err) == (4, True, False)
    nobody = tmp_path / "nobody.properties"
    nobody.write_text(f"ssl.ca.location={up.admin['ssl.ca.location']}\n")
    missing = webhook(up, url, "list", as_user=nobody)
    assert (missing.code, "--client-config" in missing.err) == (4, True), missing
    nobody.write_text("")
    assert webhook(up, url, "list", as_user=nobody).code == 5, "its certificate is by nobody whom the machine trusts"


def test_the_gateways_own_user_may_do_a_few_things(up: SecuredUp, url: str, alice: Path) -> None:
    secure = up.data / "secure"
    login, keys = secure / "gateway-login.properties", secure / "webhook.keys"
    assert [stat.S_IMODE(each.stat().st_mode) for each in (login, keys)] == [0o600] * 2
    assert len(base64.b64decode(keys.read_text())) == 32
    own = up.user_file("headrace-gateway", read_properties(str(login))["sasl.password"])
    assert "orders" in up.cli("topic", "list", as_user=own).out
    assert up.cli("produce", "orders", stdin="one\n").code == 0
    assert up.cli("consume", "orders", as_user=own).code == 4
    assert up.cli("produce", "orders", stdin="x\n", as_user=own).code == 4
    itself = ("--user", "headrace-gateway", "--read", "--topic", "orders")
    assert up.cli("acl", "allow", *itself, as_user=own).code == 4
    assert up.cli("token", "create", "--everything", "--owner", "alice", as_user=own).code == 4


def test_alerts_are_watched(up: SecuredUp, url: str) -> None:
    login = ("admin", up.admin["sasl.password"])
    alerts = httpx.get(f"{url}/api/v1/alerts", auth=login, verify=trusted(up), trust_env=False)
    assert alerts.status_code == 200, alerts.text
