"""FastStream: a subscriber that publishes what it received, and acknowledges after."""

from pathlib import Path

import pytest

from clients.build import python_environment
from ecosystem.feed import TopicFeed
from ecosystem.judge import at_least_once
from ecosystem.program import Program

FASTSTREAM = Path(__file__).resolve().parent / "faststream"
GROUP = "copiers"
# It writes and commits one message after the other.
PAUSE_SECONDS = 0.1

pytestmark = pytest.mark.long


def test_each_message_is_copied(three, built) -> None:
    three.create("source", "sink")
    copier = [built(python_environment, FASTSTREAM), FASTSTREAM / "copier.py", three.bootstrap, GROUP, "source", "sink"]
    with three.outcome("sink") as sink, Program(copier, three.folder / "log") as faststream:
        with TopicFeed(three.bootstrap, "source", PAUSE_SECONDS) as feed:
            three.kill_coordinator_at_work(GROUP, sink, faststream.well)
        sink.until(len(feed.sent), faststream.well)
        faststream.stop()
        assert at_least_once(feed.sent, sink.read()) == []
