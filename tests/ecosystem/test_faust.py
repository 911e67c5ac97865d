"""Faust: copies, and a table with its changelog."""

from pathlib import Path

import pytest

from chaos.ledger import Written
from clients.build import python_environment
from ecosystem.conftest import PARTITIONS
from ecosystem.feed import TopicFeed
from ecosystem.judge import at_least_once, lost
from ecosystem.program import Program

FAUST = Path(__file__).resolve().parent / "faust"
APPLICATION = "tally"

pytestmark = pytest.mark.long


def test_each_record_counts(three, built) -> None:
    command = [
        built(python_environment, FAUST),
        FAUST / "counter.py",
        three.bootstrap,
        APPLICATION,
        three.folder / "data",
    ]
    three.create("source", "copies", "counts")
    with (
        three.outcome("copies") as copies,
        three.outcome("counts") as counts,
        Program([*command, PARTITIONS, "source", "copies", "counts"], three.folder / "log") as faust,
    ):
        with TopicFeed(three.bootstrap, "source") as feed:
            three.kill_coordinator_at_work(APPLICATION, copies, faust.well)
        for outcome in (copies, counts):
            outcome.until(len(feed.sent), faust.well)
        faust.stop()
        assert at_least_once(feed.sent, copies.read()) == []
        # A record that is done again counts again.
        assert lost([Written(f"tally-{key}", number + 1) for key, number in feed.sent], counts.read()) == []
