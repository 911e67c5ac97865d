"""Clusters with logins and rules of every release: passwords, tokens, rules and sealed webhooks mean what they meant.

See `make_secured`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from golden_data.archives import unpacked
from golden_data.callers import ADMIN, BROKER, PASSWORDS, REFUSED, Callers, seen, seen_of_tokens, settings_of
from golden_data.test_golden_data import FILES_OF_A_BROKER, written
from headrace.cli.app import run
from headrace.cli.run.ports import free_port
from headrace.gateway.idempotency.entry import Entries, fingerprint, slot_key
from headrace.gateway.webhooks.ledger import Ledger
from headrace.gateway.webhooks.sealed_secrets import secret_keys
from headrace.testing.broker import HOST, Broker
from headrace.wire.records import Record

ARCHIVES = sorted(Path(__file__).resolve().parent.glob("secured-*.tar.xz"))


@pytest.fixture(scope="module", params=ARCHIVES, ids=lambda path: path.name.removesuffix(".tar.xz"))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(request.param, tmp_path_factory.mktemp("secured"))


@pytest.fixture(scope="module")
def before(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "seen.json").read_text()))


def broker_on(data: Path) -> Broker:
    port = free_port(HOST)
    return Broker(settings_of(port, free_port(HOST)), data=data, port=port)


@pytest.fixture(scope="module")
def callers(folder: Path) -> Iterator[Callers]:
    with broker_on(folder / "data") as broker:
        yield Callers(broker.bootstrap, folder)
    assert [name for name in written(folder / "data") if not FILES_OF_A_BROKER.search(name)] == []


def test_there_are_golden_clusters() -> None:
    assert ARCHIVES


def test_users_log_in_and_may_what_they_might(callers: Callers, before: dict[str, Any]) -> None:
    assert seen(callers) == before["seen later"]
    assert before["seen later"]["rights"]["bo"]["payroll"] == ["DESCRIBE", "READ"]
    assert before["seen later"]["features"] == {"transaction.version": 1}


def test_tokens_log_in_and_revoked_ones_do_not(callers: Callers, before: dict[str, Any]) -> None:
    assert seen_of_tokens(callers, before["tokens"]) == before["seen of tokens"]
    refused = {name for name, each in before["seen of tokens"]["rights"].items() if each == REFUSED}
    assert refused == {"ended", "revoked"}


def test_it_goes_on(callers: Callers) -> None:
    """New rules and tokens stand beside the old ones."""
    callers.told("acl", "allow", "--user", "bo", "--delete", "--topic", "payroll")
    made = callers.told("token", "create", "--read", "orders", user="al")
    login = callers.login_by_token(made["token"])
    assert "orders" in callers.ask(login, "topic", "list", "--json").out
    assert callers.told("acl", "test", "--user", "bo", "--delete", "--topic", "payroll")
    assert callers.ask(callers.login(ADMIN), "acl", "test", "--user", "bo", "--write", "--topic", "payroll").code == 4


def test_the_backup_brings_users_and_rules_back(folder: Path, before: dict[str, Any], tmp_path: Path) -> None:
    password = tmp_path / "password"
    for user in (BROKER, ADMIN):
        password.write_text(PASSWORDS[user])
        words = ["--password-file", str(password), "--data", str(tmp_path / "data")]
        assert run(["user", "add", user, *words]) == 0
    with broker_on(tmp_path / "data") as broker:
        restored = Callers(broker.bootstrap, tmp_path)
        words = ["--backup", before["backup"], "--yes", "--bootstrap", broker.bootstrap]
        done = restored.ask(restored.login(ADMIN), "backup", "restore", str(folder / "backups"), *words)
        assert done.code == 0, done.out
        assert seen(restored) == before["seen"]


# -- what the gateway keeps ------------------------------------------------------------------------------------------


def records_in(before: dict[str, Any], topic: str) -> list[Record]:
    """As they were read: offset, kind of timestamp, timestamp, key, value, headers."""
    return [
        Record(offset, at, key.encode(), value.encode() if value is not None else None)
        for offset, _, at, key, value, _ in before["gateway"]["records"][topic]
    ]


def test_a_sealed_webhook_opens_with_its_key(folder: Path, before: dict[str, Any]) -> None:
    records, said = records_in(before, "_headrace_webhooks"), before["gateway"]["webhook"]
    opened, locked = Ledger(lambda *_: None, secret_keys(str(folder / "keys"))), Ledger(lambda *_: None)
    for record in records:
        opened.apply(record)
        locked.apply(record)
    assert not locked.subscriptions and said["secret"].encode() not in b"".join(each.value or b"" for each in records)
    subscription = opened.subscriptions[said["id"]]
    assert {**subscription.view(), "secret": subscription.secret}.items() <= said.items()
    assert (subscription.state, subscription.owner) == ("paused", "al")


def test_the_token_of_a_webhook_logs_in(folder: Path, before: dict[str, Any], callers: Callers) -> None:
    ledger = Ledger(lambda *_: None, secret_keys(str(folder / "keys")))
    for record in records_in(before, "_headrace_webhooks"):
        ledger.apply(record)
    (subscription,) = ledger.subscriptions.values()
    assert subscription.mandate is not None
    listed = callers.ask(callers.login_by_token(subscription.mandate.token), "topic", "list", "--json")
    assert listed.code == 0 and "orders" in listed.out


@pytest.mark.parametrize("user", ["al", "bo"])
def test_a_key_is_answered_as_its_user_was(before: dict[str, Any], user: str) -> None:
    entries, post = Entries(), before["gateway"]["post"]
    (record,) = records_in(before, f"_headrace_idempotency.{user}")
    entries.add_record(record)
    entry = entries.get(slot_key(post["topic"], post["key"]), record.timestamp)
    assert entry is not None and entry.fingerprint == fingerprint(post["body"].encode())
    assert [each._asdict() for each in entry.results] == post["replies"][user]["messages"]
