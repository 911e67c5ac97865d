"""Backups of a secured cluster: users and rules come back with it, and who lacks a right is told which one."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from secured import SecuredUp

# A cluster is started in the midst of one, and each command is a process.
pytestmark = pytest.mark.timeout(300)
PASSWORD, LATER = "alice-knows-it", "alice-knows-another"

OWN_USERS = ["admin", "headrace-gateway"]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredUp]:
    running = SecuredUp(tmp_path_factory.mktemp("secured")).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def saved(up: SecuredUp, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a backup of topics, a user, and rules that a user had then."""
    up.add_user("alice", PASSWORD)
    for name in ("orders", "payroll"):
        assert up.cli("topic", "create", name).code == 0
    assert up.cli("acl", "allow", "--user", "alice", "--read", "--write", "--topic", "orders").code == 0
    assert up.cli("acl", "deny", "--user", "alice", "--read", "--topic", "payroll", "--host", "10.0.0.0/8").code == 0
    assert up.cli("produce", "orders", stdin="one\n").code == 0
    folder = tmp_path_factory.mktemp("backups")
    made = up.cli("backup", "create", str(folder))
    # With the user of the gateway, and his rules.
    assert made.code == 0 and "3 users, 10 rules" in made.out, made
    return folder


def test_its_files_are_their_owners_alone_and_show_no_password(up: SecuredUp, saved: Path) -> None:
    files = [path for path in saved.rglob("*") if path.is_file()]
    assert files and {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    secrets = [PASSWORD, up.admin["sasl.password"]]
    (manifest,) = (saved / "backups").glob("*.json")
    told = json.loads(manifest.read_text())["backup"]
    keys = [each["stored_key"] for user in told["users"] for each in user["credentials"]]
    assert keys and not any(secret in manifest.read_text() for secret in secrets)
    for words in (["list", str(saved), "--json"], ["restore", str(saved), "--dry-run", "--json", "--skip-existing"]):
        shown = up.cli("backup", *words)
        assert shown.code == 0 and not any(each in shown.out + shown.err for each in [*secrets, *keys])
    for log in up.logs.iterdir():
        assert not any(each in log.read_text() for each in [*secrets, *keys])


def test_users_and_rules_come_back_as_they_were(up: SecuredUp, saved: Path, tmp_path: Path) -> None:
    restored = SecuredUp(tmp_path).start()
    try:
        plan = restored.cli("backup", "restore", str(saved), "--dry-run")
        assert plan.code == 0 and "admin (left as it is), alice (new)" in plan.out, plan
        assert "  allow User:alice to write topic orders\n" in plan.out
        assert "  deny User:alice from 10.0.0.0/8 to read topic payroll\n" in plan.out
        assert [each["user"] for each in json.loads(restored.cli("user", "list", "--json").out)] == OWN_USERS
        assert restored.cli("backup", "restore", str(saved), "--yes").code == 0
        assert restored.cli("acl", "list", "--json").out == up.cli("acl", "list", "--json").out
        alice = restored.user_file("alice", PASSWORD)
        assert restored.cli("consume", "orders", as_user=alice).out == "one\n"
        assert restored.cli("consume", "payroll", as_user=alice).code == 4
        keeps_or_takes_the_password(restored, saved)
    finally:
        restored.stop()


def keeps_or_takes_the_password(restored: SecuredUp, saved: Path) -> None:
    """A user who is there keeps the password, and with --replace has that of the backup again."""
    alice = restored.add_user("alice", LATER)
    again = ["backup", "restore", str(saved), "--yes"]
    assert restored.cli(*again, "--skip-existing").code == 0
    assert restored.cli("topic", "list", as_user=alice).code == 0
    administrator = restored.admin["sasl.password"]
    assert restored.cli(*again, "--replace", "--no-users").code == 0
    assert restored.cli("topic", "list", as_user=alice).code == 0
    assert restored.cli(*again, "--replace").code == 0
    assert restored.cli("topic", "list", as_user=alice).code == 4
    assert restored.cli("topic", "list", as_user=restored.user_file("alice", PASSWORD)).code == 0
    # The backup's administrator is another one.
    refused = restored.cli("topic", "list", as_user=restored.user_file("admin", administrator))
    assert (refused.code, "user admin" in refused.err) == (4, True)


def test_who_lacks_a_right_is_told_which(up: SecuredUp, saved: Path, tmp_path: Path) -> None:
    bob = up.add_user("bob", "bob-knows-it")
    create = ["backup", "create", str(tmp_path / "of-bob")]

    def refused(*words: str) -> str:
        ran = up.cli(*create, *words, as_user=bob)
        assert ran.code != 0 and "may not back the cluster up" in ran.err, ran
        return ran.err

    def allow(*words: str) -> None:
        assert up.cli("acl", "allow", "--user", "bob", *words).code == 0

    assert "describe, describe-configs, alter on the cluster" in refused()
    allow("--describe", "--describe-configs", "--cluster")
    assert "it lacks alter on the cluster" in refused() and "--no-users" in refused()
    allow("--read", "--describe-configs", "--topic", "orders")
    # What it may not even see is told too, since a backup without it would look like a whole one.
    assert "lacks read, describe, describe-configs on topic payroll" in refused("--no-users")
    allow("--read", "--describe-configs", "--topic", "*")
    assert up.cli(*create, "--no-users", as_user=bob).code == 0
    assert "it lacks alter on the cluster" in refused()
    assert up.cli("user", "delete", "alice").code == 0
    denied = up.cli("backup", "restore", str(saved), "--dry-run", "--skip-existing", as_user=bob)
    assert denied.code != 0 and "may not restore users and rules: it lacks alter on the cluster" in denied.err


def test_a_token_is_not_told_what_passwords_are_proven_by(up: SecuredUp, saved: Path, tmp_path: Path) -> None:
    made = up.cli("token", "create", "--everything", "--ttl", "1h", "--json")
    token = json.loads(made.out)["token"]
    file = tmp_path / "token.properties"
    own = {**up.admin, "sasl.mechanism": "PLAIN", "sasl.username": "token", "sasl.password": token}
    file.write_text("".join(f"{name}={value}\n" for name, value in own.items()))
    file.chmod(0o600)
    refused = up.cli("backup", "create", str(tmp_path / "of-token"), as_user=file)
    assert (refused.code, "logged in without a token" in refused.err) == (4, True), refused
    assert up.cli("backup", "create", str(tmp_path / "of-token"), "--no-users", as_user=file).code == 0
