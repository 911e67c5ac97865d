"""Every transcript says what the code does today; `--rewrite` makes it so, and the diff is for a reviewer."""

from pathlib import Path

import pytest
from failover_world import FailoverWorld
from groups_world import GroupsWorld
from partition_world import PartitionWorld
from transcript import parse, play

HERE = Path(__file__).resolve().parent
WORLDS = {"partition": PartitionWorld, "groups": GroupsWorld, "failover": FailoverWorld}
FILES = sorted(HERE.glob("*/*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_transcript_is_what_happens(path: Path, request: pytest.FixtureRequest) -> None:
    text = path.read_text()
    today = play(WORLDS[path.parent.name](), parse(text))
    if request.config.getoption("--rewrite", default=False):
        path.write_text(today)
        return
    assert today.splitlines() == text.splitlines()


def test_a_transcript_that_says_something_else_is_noticed() -> None:
    text = (HERE / "partition" / "produce.txt").read_text()
    assert play(PartitionWorld(), parse(text.replace("watermark 2", "watermark 1"))) != text.replace(
        "watermark 2", "watermark 1"
    )
