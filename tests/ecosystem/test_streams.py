"""Kafka Streams, exactly_once_v2: copies, a repartition topic, and a store with its changelog."""

from pathlib import Path

import pytest

from chaos.ledger import Written
from clients.build import java_classpath
from ecosystem.feed import TopicFeed
from ecosystem.judge import exactly_once
from ecosystem.program import JVM, Program

STREAMS = Path(__file__).resolve().parent / "streams"
APPLICATION = "tally"

pytestmark = pytest.mark.long


def test_each_record_counts_once(three, built) -> None:
    command = [*JVM, "-cp", built(java_classpath, STREAMS), "Tally", three.bootstrap, APPLICATION]
    three.create("source", "copies", "counts")
    with (
        three.outcome("copies") as copies,
        three.outcome("counts") as counts,
        Program([*command, three.folder / "state", "source", "copies", "counts"], three.folder / "log") as streams,
    ):
        with TopicFeed(three.bootstrap, "source") as feed:
            three.kill_coordinator_at_work(APPLICATION, copies, streams.well)
        for outcome in (copies, counts):
            outcome.until(len(feed.sent), streams.well)
        streams.stop()
        assert exactly_once(feed.sent, copies.read()) == []
        expected = [Written(f"tally-{key}", number + 1) for key, number in feed.sent]
        assert exactly_once(expected, counts.read()) == []
