"""A cluster with a little of everything, saved while it serves and brought back into another: offset by offset the same."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from confluent_kafka import Producer

from cluster_view import View, committed, records_of, view_of
from ended import until_ended
from golden_data.archives import ARCHIVES, broker_on, unpacked
from golden_data.fill import Filler
from headrace.admin.admin import BROKER, Admin, Resource
from headrace.admin.configs import describe_configs
from headrace.admin.topics import delete_topic, list_topics
from headrace.backup import moment
from headrace.backup.features import feature_levels, set_feature_levels
from headrace.backup.restore import _Filling
from headrace.base.bootstrap import parse_bootstrap
from headrace.cli import app
from headrace.client.connection import Disconnected
from headrace.testing import Broker

SETTINGS = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "2"}
Cli = Callable[..., tuple[int, str, str]]
T = TypeVar("T")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """On golden data; what was left open in it is ended."""
    folder = unpacked(ARCHIVES[-1], tmp_path_factory.mktemp("source"))
    with broker_on(folder, "clean") as broker:
        Producer(
            {"bootstrap.servers": broker.bootstrap, "log_level": 0, "transactional.id": "left-open"}
        ).init_transactions(30)
        yield broker


@pytest.fixture(scope="module")
def saved(source: Broker, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, View]:
    """A folder with one backup of it, and what it was like then."""
    folder = tmp_path_factory.mktemp("backups")
    assert app.run(["backup", "create", str(folder), "--bootstrap", source.bootstrap]) == 0
    return folder, view_of(source.bootstrap)


@pytest.fixture(scope="module")
def other_broker() -> Iterator[Broker]:
    with Broker(SETTINGS) as broker:
        yield broker


@pytest.fixture
def target(other_broker: Broker) -> Iterator[Broker]:
    """Without topics."""
    yield other_broker
    asyncio.run(_delete_topics(other_broker.bootstrap))


async def _delete_topics(bootstrap: str) -> None:
    admin = Admin(parse_bootstrap(bootstrap), "test")
    for topic in await list_topics(admin):
        if not topic.is_internal:
            await delete_topic(admin, topic.name)
    admin.close()


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    def run(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = app.run([*map(str, words)])
        return (code, *capsys.readouterr())

    return run


def test_everything_comes_back_where_it_was(target: Broker, saved: tuple[Path, View], cli: Cli) -> None:
    folder, before = saved
    code, shown, _ = cli("backup", "restore", folder, "--yes", "--bootstrap", target.bootstrap)
    assert code == 0 and "restored backup" in shown
    after = view_of(target.bootstrap)
    assert committed(after) == committed(before)
    assert after["settings"] == before["settings"]
    for topic in after["topics"].values():
        for partition in topic["partitions"]:
            assert partition["read_uncommitted"] == partition["read_committed"], "nothing that was aborted is left"
    goes_on(target)


def goes_on(target: Broker) -> None:
    """Producers, groups and transactions take the restored topics for any others, also after a crash."""
    target.kill()
    target.start()
    filler = Filler(target.bootstrap)
    filler.more(b"after the restore")
    assert [records_of(target.bootstrap, topic, 0)[-1][4] for topic in ("plain", "packed", "latest")] == [
        "after the restore"
    ] * 3
    filler.read_as("classic-group", 1, **{"group.protocol": "classic"})
    filler.read_as("next-group", 1, **{"group.protocol": "consumer"})
    producer = Producer({"bootstrap.servers": target.bootstrap, "log_level": 0, "transactional.id": "writer"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("outcomes", b"new", partition=0)
    producer.commit_transaction(30)
    until_ended(target.bootstrap, "outcomes")
    assert records_of(target.bootstrap, "outcomes", 0)[-1][4] == "new"


def test_a_second_backup_copies_what_is_new_and_each_is_whole(
    source: Broker, target: Broker, tmp_path: Path, cli: Cli
) -> None:
    first = created(cli, tmp_path, source)
    before = view_of(source.bootstrap)
    Filler(source.bootstrap).more(b"later")
    second = created(cli, tmp_path, source)
    assert 0 < second["copied_bytes"] < second["bytes"] > first["bytes"] == first["copied_bytes"]
    code, shown, _ = cli("backup", "list", tmp_path, "--verify")
    assert code == 0 and [line.split()[-1] for line in shown.splitlines()[1:]] == ["whole", "whole"]
    for backup, prefix, wanted in ((first, "one.", before), (second, "two.", view_of(source.bootstrap))):
        restore(cli, tmp_path, target, "--backup", backup["backup"], "--prefix", prefix, "--no-groups")
        names = committed(view_of(target.bootstrap))["topics"]
        assert {name: it for name, it in names.items() if name.startswith(prefix)} == committed(wanted, prefix)[
            "topics"
        ]


def test_the_newest_is_the_last_one_made_after_the_clock_was_set_back(
    source: Broker, target: Broker, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    created(cli, tmp_path, source)
    hour_ago = time.time() - 3600
    monkeypatch.setattr(moment, "time", SimpleNamespace(time=lambda: hour_ago))
    last = created(cli, tmp_path, source)
    listed = json.loads(cli("backup", "list", tmp_path, "--json")[1])
    assert listed[-1]["backup"] == last["backup"]
    assert listed[-1]["made"] < listed[0]["made"], "it says when the clock said it was made"
    code, shown, _ = cli("backup", "restore", tmp_path, "--dry-run", "--json", "--bootstrap", target.bootstrap)
    assert code == 0 and json.loads(shown)["backup"] == last["backup"]


def created(cli: Cli, folder: Path, source: Broker, *words: object) -> dict[str, Any]:
    code, shown, said = cli("backup", "create", folder, "--json", "--bootstrap", source.bootstrap, *words)
    assert code == 0, said
    return dict(json.loads(shown))


def restore(cli: Cli, folder: Path, target: Broker, *words: object) -> None:
    code, _, said = cli("backup", "restore", folder, "--yes", "--bootstrap", target.bootstrap, *words)
    assert code == 0, said


def test_feature_levels_come_back_and_settings_of_one_broker_are_named(
    source: Broker, target: Broker, tmp_path: Path, cli: Cli
) -> None:
    name, level = "transaction.version", 1
    alone = Resource(BROKER, "1")
    asked(source, lambda admin: set_feature_levels(admin, {name: level}))
    asked(source, lambda admin: admin.alter_configs({alone: {"max.connections": "777"}}))
    try:
        made = created(cli, tmp_path, source)
        assert made["left_out"] == ["settings of broker 1 alone: max.connections"]
        _, _, said = cli("backup", "create", tmp_path, "--bootstrap", source.bootstrap)
        assert "settings of broker 1 alone: max.connections" in said
        restore(cli, tmp_path, target, "--topics", "plain", "--no-groups")
        assert asked(target, feature_levels).now[name] == 2
        restore(cli, tmp_path, target, "--skip-existing", "--no-groups")
        assert asked(target, feature_levels).now[name] == level
        [limit] = [
            each
            for each in asked(target, lambda admin: describe_configs(admin, alone))
            if each.name == "max.connections"
        ]
        assert limit.value != "777"
    finally:
        for broker in (source, target):
            asked(broker, lambda admin: set_feature_levels(admin, {name: 2}))
        asked(source, lambda admin: admin.alter_configs({alone: {"max.connections": None}}))


def asked(broker: Broker, ask: Callable[[Admin], Awaitable[T]]) -> T:
    async def with_admin() -> T:
        admin = Admin(parse_bootstrap(broker.bootstrap), "test")
        try:
            return await ask(admin)
        finally:
            admin.close()

    return asyncio.run(with_admin())


def test_topics_that_exist_are_left_alone_or_replaced(target: Broker, saved: tuple[Path, View], cli: Cli) -> None:
    folder, before = saved
    restore(cli, folder, target, "--topics", "plain,stamped")
    assert sorted(view_of(target.bootstrap)["topics"]) == ["plain", "stamped"]
    producer = Producer({"bootstrap.servers": target.bootstrap, "log_level": 0})
    producer.produce("plain", b"of the new cluster", partition=0)
    producer.flush(30)
    code, _, said = cli("backup", "restore", folder, "--yes", "--bootstrap", target.bootstrap)
    assert code == 1 and "topic plain exists" in said and "--skip-existing" in said
    restore(cli, folder, target, "--skip-existing")
    kept = view_of(target.bootstrap)
    assert kept["topics"]["plain"]["partitions"][0]["read_committed"][-1][4] == "of the new cluster"
    restore(cli, folder, target, "--replace")
    assert committed(view_of(target.bootstrap)) == committed(before)


def test_one_that_is_interrupted_goes_on(
    target: Broker, saved: tuple[Path, View], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, before = saved
    send, sent = _Filling._send, 0

    async def sends_five(self: _Filling, *batch: Any) -> None:
        nonlocal sent
        sent += 1
        if sent > 5:
            raise Disconnected("the network is gone")
        await send(self, *batch)

    with monkeypatch.context() as patch:
        patch.setattr(_Filling, "_send", sends_five)
        code, _, said = cli("backup", "restore", folder, "--yes", "--bootstrap", target.bootstrap)
    assert code == 5 and "the same command goes on where it was" in said
    code, _, said = cli("backup", "create", folder.parent / "other", "--bootstrap", target.bootstrap)
    assert code == 1 and "is being restored" in said, "half a topic is not backed up for a whole one"
    restore(cli, folder, target)
    assert committed(view_of(target.bootstrap)) == committed(before)


def test_what_is_restored_is_shown_first(target: Broker, saved: tuple[Path, View], cli: Cli) -> None:
    folder, _ = saved
    code, shown, _ = cli("backup", "restore", folder, "--dry-run", "--bootstrap", target.bootstrap)
    assert code == 0 and "plain" in shown and "create" in shown and "offsets of 4 groups" in shown
    assert view_of(target.bootstrap)["topics"] == {}
    code, _, said = cli("backup", "restore", folder, "--json", "--bootstrap", target.bootstrap)
    assert code == 2 and "nobody to ask" in said


def test_a_damaged_backup_changes_nothing(source: Broker, target: Broker, tmp_path: Path, cli: Cli) -> None:
    created(cli, tmp_path, source, "--topics", "plain,packed")
    path = max(tmp_path.glob("data/*/*/*"))
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    code, _, said = cli("backup", "restore", tmp_path, "--yes", "--bootstrap", target.bootstrap)
    assert code == 1 and f"{path} is damaged: its checksum does not fit" in said
    assert view_of(target.bootstrap)["topics"] == {}
    assert cli("backup", "list", tmp_path)[0] == 0
    code, shown, _ = cli("backup", "list", tmp_path, "--verify")
    assert code == 1 and "is damaged: its checksum does not fit" in shown
    (manifest,) = tmp_path.glob("backups/*.json")
    manifest.write_bytes(manifest.read_bytes().replace(b"plain", b"plane", 1))
    code, _, said = cli("backup", "restore", tmp_path, "--yes", "--bootstrap", target.bootstrap)
    assert code == 1 and f"{manifest} is damaged" in said


def test_bad_input_is_told_for_what_it_is(
    source: Broker, target: Broker, saved: tuple[Path, View], tmp_path: Path, cli: Cli
) -> None:
    folder, _ = saved
    at_source, at_target = ("--bootstrap", source.bootstrap), ("--bootstrap", target.bootstrap)
    assert "there is no folder" in cli("backup", "list", tmp_path / "missing")[2]
    assert "there is no folder" in cli("backup", "restore", tmp_path / "missing", "--yes", *at_target)[2]
    assert "there is no backup 2020" in cli("backup", "restore", folder, "--backup", "2020", "--yes", *at_target)[2]
    assert "there is no topic nope" in cli("backup", "create", folder, "--topics", "nope", *at_source)[2]
    assert "has no topic nope" in cli("backup", "restore", folder, "--topics", "nope", "--yes", *at_target)[2]
    assert "keep each cluster in a folder of its own" in cli("backup", "create", folder, *at_target)[2]
    (tmp_path / "letter.txt").write_text("mine")
    assert "is not empty, and holds no backups" in cli("backup", "create", tmp_path, *at_source)[2]
    assert cli("backup", "create", tmp_path / "new", "--bootstrap", "127.0.0.1:1")[0] == 5


def test_a_transaction_that_does_not_end_is_named(source: Broker, tmp_path: Path, cli: Cli) -> None:
    """A group's offsets may be in it: nothing above its first record is part of a moment."""
    filler = Filler(source.bootstrap)
    filler.begin_to_transact()
    code, _, said = cli("backup", "create", tmp_path, "--wait", "0.2", "--bootstrap", source.bootstrap)
    assert code == 1 and "a transaction on outcomes-0 is still open" in said and "--wait" in said
    filler.forget_open()
    Producer(
        {"bootstrap.servers": source.bootstrap, "log_level": 0, "transactional.id": "left-open"}
    ).init_transactions(30)
    assert created(cli, tmp_path, source)["topics"] == 5
