"""kafka-go: a Writer with all acknowledgements, and a Reader in a group that commits after its work."""

from pathlib import Path

import pytest

from clients.build import go_program
from ecosystem.feed import TopicFeed
from ecosystem.judge import acknowledged, at_least_once
from ecosystem.program import Program

KAFKA_GO = Path(__file__).resolve().parent / "kafka_go"
GROUP = "copiers"

pytestmark = pytest.mark.long


def test_what_is_acknowledged_is_there(three, built) -> None:
    three.create("sink")
    acks = three.folder / "acks"
    command = [built(go_program, KAFKA_GO), "produce", three.bootstrap, "sink", acks]
    with three.outcome("sink") as sink, Program(command, three.folder / "log") as kafka_go:
        three.kill_leader_at_work("sink", sink, kafka_go.well)
        kafka_go.stop()
        found = sink.read()
    ledger = acknowledged("sink", acks)
    assert ledger.count > 0
    # kafka-go has no idempotent producer: a record whose acknowledgement died with the leader is there twice.
    assert ledger.check(found, [], one_leader=False) == []


def test_each_record_is_copied(three, built) -> None:
    three.create("source", "sink")
    command = [built(go_program, KAFKA_GO), "copy", three.bootstrap, "source", "sink", GROUP]
    with three.outcome("sink") as sink, Program(command, three.folder / "log") as kafka_go:
        with TopicFeed(three.bootstrap, "source") as feed:
            three.kill_coordinator_at_work(GROUP, sink, kafka_go.well)
        sink.until(len(feed.sent), kafka_go.well)
        kafka_go.stop()
        assert at_least_once(feed.sent, sink.read()) == []
