"""The data directories of every release open with the broker of today, and hold what they held.

They are kept as that release's broker left them, after a clean stop and after kill -9: see `make`.
"""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka import Producer

from cluster_view import View, records_of, view_of
from golden_data.archives import ARCHIVES, broker_on, unpacked, what_was_in
from golden_data.fill import OLD_LEVEL, Filler
from headrace.admin.admin import Admin
from headrace.backup.features import feature_levels
from headrace.base.bootstrap import parse_bootstrap

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "formats.md").read_text()
FILES = {
    re.escape(each).replace("…", r"[\w.-]+").replace("BOOT", r"[\w-]+") for each in re.findall(r"`([\w./…-]+)`", PAGE)
}
FILES_OF_A_BROKER = re.compile(rf"(?:^|/)(?:{'|'.join(FILES)})$")

NOBODY_CHOSE = {"transaction.version": 2}


def test_there_are_golden_directories() -> None:
    assert ARCHIVES


@pytest.mark.parametrize("how", ["clean", "killed"])
@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name.removesuffix(".tar.xz"))
def test_it_opens_and_holds_what_it_held(archive: Path, how: str, tmp_path: Path) -> None:
    before = what_was_in(unpacked(archive, tmp_path), how)
    with broker_on(tmp_path, how) as broker:
        assert levels_of(broker.bootstrap) == (OLD_LEVEL if "relaxed" in before["topics"] else NOBODY_CHOSE)
        assert without_the_open_one(view_of(broker.bootstrap)) == without_the_open_one(before)
        goes_on(broker.bootstrap, before)
    assert [name for name in written(tmp_path / how) if not FILES_OF_A_BROKER.search(name)] == []


def levels_of(bootstrap: str) -> Mapping[str, int]:
    async def asked() -> Mapping[str, int]:
        admin = Admin(parse_bootstrap(bootstrap), "golden")
        try:
            return (await feature_levels(admin)).now
        finally:
            admin.close()

    return asyncio.run(asked())


def written(data: Path) -> list[str]:
    """All files, with the place of a topic's in the words of docs/formats.md."""
    names = {str(path.relative_to(data)) for path in data.rglob("*") if path.is_file()}
    return sorted({re.sub(r"logs/[\w.-]+-\d+/", "logs/TOPIC-N/", re.sub(r"-(wal|shm)$", "", name)) for name in names})


def without_the_open_one(view: View) -> View:
    """Its time may be over by now: then there is a marker behind it."""
    assert view["transactions"].pop("left-open") in ("Ongoing", "PrepareAbort", "CompleteAbort")
    del view["topics"]["outcomes"]["partitions"][0]["end"]
    return view


def goes_on(bootstrap: str, before: View) -> None:
    """It is no museum: producers, transactions and groups work where they left off."""
    filler = Filler(bootstrap)
    filler.more(b"today")
    for topic in filler.tailed():
        (*_, last) = records_of(bootstrap, topic, 0)
        assert last[0] == before["topics"][topic]["partitions"][0]["end"] and last[4] == "today"
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "left-open", "log_level": 0})
    # Ends what was left open.
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("outcomes", b"today", partition=0)
    producer.commit_transaction(30)
    assert records_of(bootstrap, "outcomes", 0)[-1][4] == "today"
    filler.read_as("classic-group", 1, **{"group.protocol": "classic"})
    filler.read_as("next-group", 1, **{"group.protocol": "consumer"})
