"""Backups and gateways' records of every release are read by the code of today: see `make_beyond`."""

import json
from pathlib import Path
from typing import Any

import pytest

from cluster_view import committed, view_of
from golden_data.archives import unpacked
from headrace.cli import app
from headrace.gateway.idempotency.entry import Entries, fingerprint, slot_key
from headrace.gateway.webhooks.ledger import Ledger
from headrace.gateway.webhooks.subscription import Subscription
from headrace.testing import Broker
from headrace.wire.records import Record

HERE = Path(__file__).resolve().parent
BACKUPS, GATEWAYS = sorted(HERE.glob("backup-*.tar.xz")), sorted(HERE.glob("gateway-*.json"))
SETTINGS = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1", "log.retention.ms": "-1"}


def named(path: Path) -> str:
    return path.name.removesuffix(".tar.xz").removesuffix(".json")


def test_there_are_golden_backups_and_records() -> None:
    assert BACKUPS and GATEWAYS


@pytest.mark.parametrize("archive", BACKUPS, ids=named)
def test_each_backup_is_restored_to_what_clients_saw(archive: Path, tmp_path: Path) -> None:
    folder = unpacked(archive, tmp_path) / "backups"
    assert app.run(["backup", "list", str(folder), "--verify"]) == 0
    for seen in json.loads((tmp_path / "seen.json").read_text()):
        with Broker(SETTINGS) as broker:
            words = ["--backup", seen["id"], "--yes", "--bootstrap", broker.bootstrap]
            assert app.run(["backup", "restore", str(folder), *words]) == 0
            after = view_of(broker.bootstrap)
        assert committed(after) == committed(seen["view"]) and after["settings"] == seen["view"]["settings"]


@pytest.fixture(params=GATEWAYS, ids=named)
def golden(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(json.loads(request.param.read_text()))


def records_in(golden: dict[str, Any], topic: str) -> list[Record]:
    """As they were read: offset, kind of timestamp, timestamp, key, value, headers."""
    return [
        Record(offset, at, key.encode(), value.encode() if value is not None else None)
        for offset, _, at, key, value, _ in golden["records"][topic]
    ]


def test_webhooks_are_what_the_gateway_said(golden: dict[str, Any]) -> None:
    ledger = Ledger(lambda *_: None)
    for record in records_in(golden, "_headrace_webhooks"):
        ledger.apply(record)
    said = golden["webhook"]
    assert ledger.subscriptions.keys() == {said["id"]}
    subscription: Subscription = ledger.subscriptions[said["id"]]
    assert {**subscription.view(), "secret": subscription.secret}.items() <= said.items()
    assert subscription.redrive_until == {0: 0, 1: 0} and not subscription.is_active


def test_a_key_is_answered_as_it_was(golden: dict[str, Any]) -> None:
    entries = Entries()
    (record,) = records_in(golden, "_headrace_idempotency")
    entries.add_record(record)
    post = golden["post"]
    entry = entries.get(slot_key(post["topic"], post["key"]), record.timestamp)
    assert entry is not None and entry.fingerprint == fingerprint(post["body"].encode())
    assert [each._asdict() for each in entry.results] == post["reply"]["messages"]
