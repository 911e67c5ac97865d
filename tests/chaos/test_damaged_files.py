"""Files that rot or vanish while a broker is down. It comes up again, and what it then serves is what was written: all
of it, or its beginning, or a refusal that says what to do. Never other records, and never at the cost of other topics.
"""

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clients.confluent import Confluent
from clients.raw import RawClient
from clients.raw_records import fetch, good_batch, produce
from eventually import until
from headrace.base.errors import UserError
from headrace.testing import Broker
from headrace.wire.batch import crc_ok, iter_headers
from headrace.wire.codes import ErrorCode
from headrace.wire.records import read_records

BATCHES = 60
VALUE_BYTES = 60_000
SEGMENT_BYTES = 1 << 20
TOPICS = ("orders", "bystander")


def value_of(offset: int) -> bytes:
    return random.Random(offset).randbytes(VALUE_BYTES)


@pytest.fixture(scope="module")
def left_behind(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The data of a broker with two topics in several segments each, all of it synced and checkpointed."""
    root = tmp_path_factory.mktemp("left-behind")
    with Broker(data=root / "killed") as broker:
        admin = Confluent(broker.bootstrap)
        with RawClient(broker.bootstrap) as client:
            for topic in TOPICS:
                admin.create_topic(topic, 1, {"segment.bytes": str(SEGMENT_BYTES)})
                for offset in range(BATCHES):
                    producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": offset}
                    assert produce(client, topic, good_batch(value_of(offset), **producer)).base_offset == offset
        # Deleting nothing is enough to have the recovery points written down.
        for topic in TOPICS:
            admin.delete_records(topic, 0)
        broker.kill()
    shutil.copytree(root / "killed", root / "stopped")
    with Broker(data=root / "stopped"):
        pass
    return {"killed": root / "killed", "stopped": root / "stopped"}


@pytest.fixture(params=["killed", "stopped"])
def data(request: pytest.FixtureRequest, left_behind: dict[str, Path], tmp_path: Path) -> Path:
    """After either end."""
    return Path(shutil.copytree(left_behind[request.param], tmp_path / "data"))


@pytest.fixture
def killed(left_behind: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(left_behind["killed"], tmp_path / "data"))


def partition_files(data: Path, pattern: str) -> list[Path]:
    return sorted((data / "broker-1" / "logs" / "orders-0").glob(pattern))


Damage = Callable[[Path], None]


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def halved(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def overwritten(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(path.stat().st_size))


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)


def removed(path: Path) -> None:
    path.unlink()


DAMAGES = (emptied, halved, overwritten, flipped, removed)


def records_of(bootstrap: str, topic: str) -> Iterator[tuple[int, bytes]]:
    """(offset, value) of everything that is served, up to the first refusal or the first bad checksum."""
    with RawClient(bootstrap) as client:
        offset = 0
        while True:
            answer = until_led(lambda at: fetch(client, topic, at), offset)
            batches = bytes(answer.records or b"")
            if answer.error_code or not batches:
                return
            for position, header in iter_headers(batches):
                if not crc_ok(batches, position, header.size):
                    return
                yield from [(each.offset, each.value) for each in read_records(batches[position:])]
                offset = header.next_offset


def expect_all(bootstrap: str, topic: str) -> None:
    assert list(records_of(bootstrap, topic)) == [(offset, value_of(offset)) for offset in range(BATCHES)]


def expect_beginning(bootstrap: str, topic: str) -> int:
    """How many records there are, all of them as they were written."""
    count = 0
    for offset, value in records_of(bootstrap, topic):
        assert (offset, value) == (count, value_of(count))
        count += 1
    return count


def until_led(ask: Callable[[Any], Any], argument: Any, refusal: int = ErrorCode.NOT_LEADER_OR_FOLLOWER) -> Any:
    """The answer once there is a leader: a broker that has just joined, or may again, is elected a moment later."""
    return until(lambda: ask(argument), lambda answer: answer.error_code != refusal)


def expect_resend_known(bootstrap: str, topic: str) -> None:
    """The producer's last batch, sent again, is answered with its first offset: nothing of its state was lost."""
    batch = good_batch(value_of(BATCHES - 1), producer_id=7, producer_epoch=0, base_sequence=BATCHES - 1)
    with RawClient(bootstrap) as client:
        assert until_led(lambda again: produce(client, topic, again), batch).base_offset == BATCHES - 1


@pytest.mark.parametrize("damage", DAMAGES)
def test_caches_are_built_again(data: Path, damage: Damage) -> None:
    for path in [*partition_files(data, "*.index"), *partition_files(data, "*.snapshot")]:
        damage(path)
    with Broker(data=data) as broker:
        expect_all(broker.bootstrap, "orders")
        expect_resend_known(broker.bootstrap, "orders")
        expect_all(broker.bootstrap, "bystander")


@pytest.mark.parametrize("damage", [overwritten, removed])
def test_checkpoints_only_save_work(data: Path, damage: Damage) -> None:
    for name in ("recovery-points", "start-offsets", "high-watermarks"):
        damage(data / "broker-1" / name)
    with Broker(data=data) as broker:
        for topic in TOPICS:
            expect_all(broker.bootstrap, topic)
            expect_resend_known(broker.bootstrap, topic)


@pytest.mark.parametrize("damage", [halved, overwritten])
def test_a_damaged_end_is_noticed_after_a_clean_stop_too(data: Path, damage: Damage) -> None:
    """Only a flipped bit is not: a clean stop vouches for what it wrote, and the checksum is for readers to check."""
    damage(partition_files(data, "*.log")[-1])
    with Broker(data=data) as broker, RawClient(broker.bootstrap) as client:
        expect_all(broker.bootstrap, "bystander")
        assert produce(client, "orders", good_batch()).error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_damaged_end_is_not_led_from_until_someone_insists(killed: Path) -> None:
    flipped(partition_files(killed, "*.log")[-1])
    with Broker(data=killed) as broker:
        expect_all(broker.bootstrap, "bystander")
        with RawClient(broker.bootstrap) as client:
            answer = produce(client, "orders", good_batch())
            assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert "unclean.leader.election.enable=true" in answer.error_message
            Confluent(broker.bootstrap).set_config("orders", "unclean.leader.election.enable", "true")
            until_led(lambda at: fetch(client, "orders", at), 0, ErrorCode.KAFKA_STORAGE_ERROR)
            kept = expect_beginning(broker.bootstrap, "orders")
            assert 0 < kept < BATCHES
            assert produce(client, "orders", good_batch()).base_offset == kept


@pytest.mark.parametrize("damage", [halved, overwritten, flipped])
def test_damage_in_the_middle_ends_what_is_served_and_nothing_else(killed: Path, damage: Damage) -> None:
    """An old segment is not looked at before someone reads it; then it is refused, and the connection stays."""
    damage(partition_files(killed, "*.log")[1])
    with Broker(data=killed) as broker:
        expect_all(broker.bootstrap, "bystander")
        assert 0 < expect_beginning(broker.bootstrap, "orders") < BATCHES


@pytest.mark.parametrize("damage", [emptied, overwritten, removed])
def test_a_directory_that_does_not_say_whose_it_is_waits_for_someone_who_knows(killed: Path, damage: Damage) -> None:
    (marker,) = partition_files(killed, "topic.id")
    written = marker.read_bytes()
    damage(marker)
    with Broker(data=killed) as broker:
        expect_all(broker.bootstrap, "bystander")
        with RawClient(broker.bootstrap) as client:
            answer = produce(client, "orders", good_batch())
        assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert f"write {written.decode()} into it" in answer.error_message
    marker.write_bytes(written)
    with Broker(data=killed) as broker:
        expect_all(broker.bootstrap, "orders")


def test_a_directory_that_vanished_is_not_begun_anew(killed: Path) -> None:
    shutil.rmtree(killed / "broker-1" / "logs" / "orders-0")
    with Broker(data=killed) as broker:
        expect_all(broker.bootstrap, "bystander")
        with RawClient(broker.bootstrap) as client:
            assert produce(client, "orders", good_batch()).error_code == ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize("damage", [emptied, halved, overwritten])
def test_a_damaged_broker_file_refuses_with_the_fix(killed: Path, damage: Damage) -> None:
    damage(killed / "broker-1" / "broker")
    with pytest.raises(UserError, match=r"broker is damaged\n.*backup"), Broker(data=killed):
        pass


def test_a_damaged_store_refuses_with_the_fix(killed: Path) -> None:
    for path in (killed / "meta").glob("metadata.sqlite*"):
        overwritten(path)
    with pytest.raises(UserError, match="not a SQLite file, or is damaged"), Broker(data=killed):
        pass
