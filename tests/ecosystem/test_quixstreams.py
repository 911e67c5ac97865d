"""quixstreams, exactly-once: copies, a repartition topic, and a store with its changelog."""

from pathlib import Path

import pytest

from chaos.ledger import Written
from clients.build import python_environment
from ecosystem.feed import TopicFeed
from ecosystem.judge import exactly_once
from ecosystem.program import Program

QUIXSTREAMS = Path(__file__).resolve().parent / "quixstreams"
GROUP = "tally"

pytestmark = pytest.mark.long


def test_each_record_counts_once(three, built) -> None:
    command = [built(python_environment, QUIXSTREAMS), QUIXSTREAMS / "tally.py", three.bootstrap, GROUP]
    three.create("source", "copies", "counts")
    with (
        three.outcome("copies") as copies,
        three.outcome("counts") as counts,
        Program([*command, three.folder / "state", "source", "copies", "counts"], three.folder / "log") as quixstreams,
    ):
        with TopicFeed(three.bootstrap, "source") as feed:
            three.kill_coordinator_at_work(GROUP, copies, quixstreams.well)
        for outcome in (copies, counts):
            outcome.until(len(feed.sent), quixstreams.well)
        quixstreams.stop()
        assert exactly_once(feed.sent, copies.read()) == []
        expected = [Written(f"tally-{key}", number + 1) for key, number in feed.sent]
        assert exactly_once(expected, counts.read()) == []
