"""rskafka: a producer and a copier, partition by partition and without groups, of which it has none."""

from pathlib import Path

import pytest

from clients.build import cargo_program
from ecosystem.conftest import PARTITIONS
from ecosystem.feed import TopicFeed
from ecosystem.judge import acknowledged, at_least_once
from ecosystem.program import Program

RSKAFKA = Path(__file__).resolve().parent / "rskafka"

pytestmark = pytest.mark.long


def test_what_is_acknowledged_is_there(three, built) -> None:
    three.create("sink")
    acks = three.folder / "acks"
    command = [built(cargo_program, RSKAFKA), "produce", three.bootstrap, PARTITIONS, "sink", acks]
    with three.outcome("sink") as sink, Program(command, three.folder / "log") as rskafka:
        three.kill_leader_at_work("sink", sink, rskafka.well)
        rskafka.stop()
        found = sink.read()
    ledger = acknowledged("sink", acks)
    assert ledger.count > 0
    # rskafka has no idempotent producer: a record whose acknowledgement died with the leader is there twice.
    assert ledger.check(found, [], one_leader=False) == []


def test_each_record_is_copied(three, built) -> None:
    three.create("source", "sink")
    command = [built(cargo_program, RSKAFKA), "copy", three.bootstrap, PARTITIONS, "source", "sink"]
    with three.outcome("sink") as sink, Program(command, three.folder / "log") as rskafka:
        with TopicFeed(three.bootstrap, "source") as feed:
            three.kill_leader_at_work("sink", sink, rskafka.well)
        sink.until(len(feed.sent), rskafka.well)
        rskafka.stop()
        assert at_least_once(feed.sent, sink.read()) == []
