"""Kafka Connect in distributed mode: a file into a topic, exactly once, and the topic into another file."""

import pytest

from clients.build import java_classpath
from ecosystem.connect_worker import CONNECT, GROUP, Worker
from ecosystem.feed import FileFeed
from ecosystem.judge import at_least_once, exactly_once
from ecosystem.outcome import FileOutcome

pytestmark = pytest.mark.long


def test_a_file_through_a_topic_into_a_file(three, built) -> None:
    taken, given = three.folder / "taken", three.folder / "given"
    three.create("lines")
    written_out = FileOutcome(given)
    with (
        FileFeed(taken) as feed,
        Worker(built(java_classpath, CONNECT), three.bootstrap, three.folder) as worker,
        three.outcome("lines") as lines,
    ):
        worker.put(
            "source",
            connector_class="org.apache.kafka.connect.file.FileStreamSourceConnector",
            file=str(taken),
            topic="lines",
            exactly_once_support="required",
        )
        worker.put(
            "sink",
            connector_class="org.apache.kafka.connect.file.FileStreamSinkConnector",
            file=str(given),
            topics="lines",
        )
        three.kill_coordinator_at_work(GROUP, written_out, worker.well)
        feed.stop()
        lines.until(len(feed.sent), worker.well)
        written_out.until(len(feed.sent), worker.well)
        assert worker.failed("source") + worker.failed("sink") == []
        assert exactly_once(feed.sent, lines.read()) == []
        assert at_least_once(feed.sent, written_out.read()) == []
