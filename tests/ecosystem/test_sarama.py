"""Sarama: an idempotent producer, and a consumer group that copies in transactions."""

from pathlib import Path

import pytest

from clients.build import go_program
from ecosystem.feed import TopicFeed
from ecosystem.judge import acknowledged, exactly_once
from ecosystem.program import Program

SARAMA = Path(__file__).resolve().parent / "sarama"
GROUP = "copiers"


def test_what_is_acknowledged_is_there_once(three, built) -> None:
    three.create("sink")
    acks = three.folder / "acks"
    command = [built(go_program, SARAMA), "produce", three.bootstrap, "sink", acks]
    with three.outcome("sink") as sink, Program(command, three.folder / "log") as sarama:
        three.kill_leader_at_work("sink", sink, sarama.well)
        sarama.stop()
        found = sink.read()
    ledger = acknowledged("sink", acks)
    assert ledger.count >= sink.count
    assert ledger.check(found, ["sarama"]) == []


@pytest.mark.long
def test_each_record_is_copied_once(three, built) -> None:
    three.create("source", "sink")
    command = [built(go_program, SARAMA), "copy", three.bootstrap, "source", "sink", GROUP]
    with three.outcome("sink") as sink, Program(command, three.folder / "log") as sarama:
        with TopicFeed(three.bootstrap, "source") as feed:
            three.kill_coordinator_at_work(GROUP, sink, sarama.well)
        sink.until(len(feed.sent), sarama.well)
        sarama.stop()
        assert exactly_once(feed.sent, sink.read()) == []
