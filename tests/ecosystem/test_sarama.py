"""Sarama: an idempotent producer, one without acks to new topics, and a consumer group that copies in transactions."""

from pathlib import Path

import pytest

from clients.build import go_program
from ecosystem.conftest import PARTITIONS
from ecosystem.feed import TopicFeed
from ecosystem.judge import acknowledged, exactly_once
from ecosystem.program import Program

SARAMA = Path(__file__).resolve().parent / "sarama"
GROUP = "copiers"
WAIT_SECONDS = 60


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


def test_new_topics_lose_nothing_that_is_sent_without_acks(three, built) -> None:
    """A topic can be used once CreateTopics has answered: nobody would tell this producer of a leader that does not lead."""
    topics = [f"new-{number}" for number in range(6)]
    command = [built(go_program, SARAMA), "unacked", three.bootstrap, PARTITIONS, *topics]
    with Program(command, three.folder / "log") as sarama:
        sarama.wait(WAIT_SECONDS)
    for topic in topics:
        with three.outcome(topic) as sink:
            sink.until(PARTITIONS, lambda: None)


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
