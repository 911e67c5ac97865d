"""`headrace up --secure`: what it makes, who gets in, and that a second start finds all of it."""

import shutil
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from secured import HOST, SECONDS, SecuredUp

import headrace
from clients import console
from clients.build import MissingTool, java_classpath
from eventually import until
from headrace.cli.run.ports import free_port

PASSWORD = "alice-knows-it"


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredUp]:
    running = SecuredUp(tmp_path_factory.mktemp("secured")).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def alice(up: SecuredUp) -> Path:
    return up.add_user("alice", PASSWORD)


def test_the_administrators_file_is_his_alone_and_works(up: SecuredUp) -> None:
    assert up.serving["client_config"] == str(up.admin_file)
    for path in (up.data / "secure").iterdir():
        assert path.name == "ca.pem" or stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE((up.data / "secure").stat().st_mode) == 0o700
    assert up.cli("topic", "create", "hello").code == 0
    assert up.cli("produce", "hello", stdin="one\n").code == 0
    assert up.cli("consume", "hello") == (0, "one\n", "")


def test_the_gateway_serves_https_and_callers_as_themselves(up: SecuredUp, alice: Path) -> None:
    url = up.serving["gateway"]["url"]
    assert url.startswith("https://")
    trusted = ssl.create_default_context(cafile=up.admin["ssl.ca.location"])
    assert up.cli("topic", "create", "behind").code == 0
    with httpx.Client(base_url=url, verify=trusted, trust_env=False, timeout=SECONDS) as http:
        until(lambda: http.get("/ready").status_code == 200, seconds=SECONDS)
        assert http.get("/topics/behind/messages").status_code == 401
        assert http.get("/topics/behind/messages", auth=("alice", PASSWORD)).status_code == 403
        assert http.get("/topics/behind/messages", auth=("admin", up.admin["sasl.password"])).status_code == 200


def test_without_a_login_nobody_gets_in(up: SecuredUp, tmp_path: Path) -> None:
    nobody = tmp_path / "nobody.properties"
    nobody.write_text("")
    asked = up.cli("topic", "list", "--bootstrap", up.bootstrap, as_user=nobody)
    assert (asked.code, "--client-config" in asked.err) == (5, True)
    nobody.write_text(f"security.protocol=SSL\nssl.ca.location={up.admin['ssl.ca.location']}\n")
    assert up.cli("topic", "list", "--bootstrap", up.bootstrap, as_user=nobody).code == 5
    wrong = up.user_file("admin", "not-this-one")
    refused = up.cli("topic", "list", as_user=wrong)
    assert (refused.code, "user admin" in refused.err, "not-this-one" in refused.err) == (4, True, False)


def test_a_program_with_a_wrong_password_is_told_so(up: SecuredUp, monkeypatch: pytest.MonkeyPatch) -> None:
    """librdkafka tries on, and says of its calls only that their time is over."""
    monkeypatch.setenv("HEADRACE_CONFIG", str(up.user_file("admin", "not-this-one")))
    monkeypatch.setattr("headrace.api.topics.SECONDS", 5.0)
    with headrace.connect(delivery_timeout_ms=5000) as client:
        for call in (client.topics, lambda: client.produce("hello", "x"), lambda: client.describe_topic("hello")):
            with pytest.raises(headrace.ApiError, match=r"_AUTHENTICATION\)\nsee sasl.username, sasl.password") as told:
                call()
            assert "not-this-one" not in str(told.value)


def test_a_user_may_do_what_rules_say(up: SecuredUp, alice: Path) -> None:
    for name in ("orders", "payroll"):
        assert up.cli("topic", "create", name).code == 0
    assert up.cli("produce", "orders", stdin="x\n", as_user=alice).code == 4
    allow = up.cli("acl", "allow", "--user", "alice", "--read", "--write", "--topic", "orders")
    assert allow.code == 0, allow.err
    assert up.cli("produce", "orders", stdin="one\n", as_user=alice).code == 0
    assert up.cli("consume", "orders", as_user=alice) == (0, "one\n", "")
    in_group = up.cli("consume", "orders", "--group", "billing", as_user=alice)
    assert (in_group.code, "ask for an ACL on the group" in in_group.err) == (4, True)
    listed = up.cli("topic", "list", as_user=alice).out
    assert ("orders" in listed, "payroll" in listed) == (True, False)
    assert up.cli("topic", "delete", "orders", "--yes", as_user=alice).code == 4


def test_a_user_who_may_only_read_is_told_so(up: SecuredUp) -> None:
    """librdkafka calls that fatal, since its producer gets no id."""
    reader = up.add_user("reader", PASSWORD)
    assert up.cli("topic", "create", "for-readers").code == 0
    assert up.cli("acl", "allow", "--user", "reader", "--read", "--topic", "for-readers").code == 0
    refused = up.cli("produce", "for-readers", stdin="one\ntwo\n", as_user=reader)
    assert (refused.code, "authorization failed" in refused.err, "fault of headrace" in refused.err) == (4, True, False)
    assert up.cli("consume", "for-readers", as_user=reader) == (0, "", "")


def test_import_headrace_as_a_user_without_a_group(up: SecuredUp, alice: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert up.cli("topic", "create", "read-only").code == 0
    assert up.cli("produce", "read-only", stdin="one\n").code == 0
    assert up.cli("acl", "allow", "--user", "alice", "--read", "--topic", "read-only").code == 0
    monkeypatch.setenv("HEADRACE_CONFIG", str(alice))
    with headrace.connect() as client:
        assert [message.text for message in client.fetch("read-only")] == ["one"]


def test_import_headrace(up: SecuredUp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CONFIG", str(up.admin_file))
    with headrace.connect() as client:
        client.create_topic("api", partitions=1)
        client.produce("api", "hello")
        assert [message.text for message in client.fetch("api")] == ["hello"]


def test_kcat_with_the_file_as_it_is(up: SecuredUp) -> None:
    if not shutil.which("kcat"):
        pytest.skip("kcat is needed. Fix: apt-get install kcat")
    assert up.cli("topic", "create", "by-kcat").code == 0
    kcat = ["kcat", "-q", "-F", str(up.admin_file), "-t", "by-kcat"]
    subprocess.run([*kcat, "-P"], input=b"one\n", check=True, timeout=SECONDS)
    read = subprocess.run([*kcat, "-C", "-e"], capture_output=True, check=True, timeout=SECONDS)
    assert read.stdout == b"one\n"


def test_javas_tools_with_their_file(up: SecuredUp) -> None:
    try:
        java_classpath()
    except MissingTool as missing:
        pytest.skip(str(missing))
    file = str(up.data / "secure" / "admin-java.properties")
    console.run(up.bootstrap, console.TOPICS, "--command-config", file, "--create", "--topic", "by-java")
    assert "by-java" in console.run(up.bootstrap, console.TOPICS, "--command-config", file, "--list").split()


def test_the_same_words_without_secure_are_refused(up: SecuredUp) -> None:
    command = [sys.executable, "-m", "headrace.cli", "up", f"--data={up.data}", f"--port={free_port(HOST)}"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (ran.returncode, "was started with --secure" in ran.stderr) == (2, True)


def test_what_makes_it_secure_cannot_be_set_away(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "headrace.cli",
        "up",
        "--secure",
        f"--data={tmp_path}",
        f"--port={free_port(HOST)}",
    ]
    for setting in ("listeners=PLAINTEXT://:9092", "super.users=User:ANONYMOUS", "authorizer.class.name="):
        ran = subprocess.run([*command, "--set", setting], capture_output=True, text=True, timeout=SECONDS, check=False)
        assert (ran.returncode, f"--secure sets {setting.partition('=')[0]} itself" in ran.stderr) == (2, True)


def test_a_second_start_of_three_brokers_keeps_everything(tmp_path: Path) -> None:
    up = SecuredUp(tmp_path, brokers=3).start()
    try:
        alice = up.add_user("alice", PASSWORD)
        assert up.cli("topic", "create", "kept", "--replication-factor", "3").code == 0
        assert up.cli("produce", "kept", stdin="one\n").code == 0
        assert up.cli("acl", "allow", "--user", "alice", "--read", "--topic", "kept").code == 0
        before = {path.name: path.read_bytes() for path in (up.data / "secure").iterdir()}
        assert up.stop() == 0
        up.start()
        assert {path.name: path.read_bytes() for path in (up.data / "secure").iterdir()} == before
        until_read(up, alice)
        up.stop()
        up.admin_file.unlink()
        up.start()
        # A new password: who owns the data is the administrator.
        assert up.admin_file.read_bytes() != before["admin.properties"]
        until_read(up, up.admin_file)
        until_read(up, alice)
    finally:
        up.stop()


def until_read(up: SecuredUp, file: Path) -> None:
    """Brokers that all start anew have leaders a moment later."""
    until(lambda: up.cli("consume", "kept", as_user=file), lambda ran: ran.out == "one\n", seconds=SECONDS)
