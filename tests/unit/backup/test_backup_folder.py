"""The folder of backups: what is not whole, or not ours, is told for what it is."""

from pathlib import Path

import pytest

from headrace.backup.folder import BatchFile, Folder, last_batch, make_folder, open_folder, read_batches
from headrace.backup.manifest import Backup, SavedFile, SavedPartition, SavedTopic
from headrace.base.errors import UserError
from headrace.base.headed_text import checksum
from headrace.wire.batch import parse_header
from headrace.wire.records import Record, build_batch

BATCHES = [bytes(build_batch([Record(-1, 0, b"k", b"v", [])], base_offset=offset)) for offset in (0, 1, 2)]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return make_folder(str(tmp_path / "backups"))


def save(folder: Folder, id: str = "20260101T000000Z-000000") -> tuple[Backup, SavedFile]:
    file = BatchFile(folder, "data/topic/0", 0)
    for batch in BATCHES:
        file.add(memoryview(batch))
    saved = file.seal(3)
    topic = SavedTopic("orders", "topic", 1, {}, False, (SavedPartition(0, 3, (saved,)),))
    backup = Backup(id, 0, "cluster", {}, (topic,), ())
    folder.save(backup)
    return backup, saved


def test_what_was_saved_is_there(folder: Folder) -> None:
    backup, file = save(folder)
    again = open_folder(str(folder.path))
    assert again.newest() == backup == again.read(backup.id)
    again.check(file, whole=True)
    path = folder.path_of(file.name)
    assert [content for _, content in read_batches(path)] == BATCHES
    assert last_batch(path) == (parse_header(BATCHES[-1]), BATCHES[-1])


def test_the_newest_is_taken(folder: Folder) -> None:
    for id in ("20260102T000000Z-000000", "20270101T000000Z-000000", "20260101T000000Z-ffffff"):
        save(folder, id)
    assert folder.newest().id == "20270101T000000Z-000000"


NEW_YEAR_2027 = 1798761600
CLOCKS = {"the_same_second": NEW_YEAR_2027, "a_clock_set_back": NEW_YEAR_2027 - 86_400, "later": NEW_YEAR_2027 + 60}


@pytest.mark.parametrize("second", CLOCKS.values(), ids=CLOCKS)
def test_each_backup_is_the_newest_whatever_the_clock_says(folder: Folder, second: int) -> None:
    save(folder, "20270101T000000Z-ffffff")
    made = [save(folder, folder.new_id(second * 1000 + ms))[0].id for ms in (0, 999, 1, 500)]
    assert folder.ids() == ["20270101T000000Z-ffffff", *made]
    assert folder.newest().id == made[-1]
    assert (made[0][:16] == "20270101T000100Z") is (second > NEW_YEAR_2027), "a clock that is right is believed"


def test_a_name_that_is_no_id_does_not_hinder_a_new_one(folder: Folder) -> None:
    save(folder, "copy of mine")
    assert folder.new_id(NEW_YEAR_2027 * 1000).startswith("20270101T000000Z-")


def test_a_folder_that_is_missing_or_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no folder"):
        open_folder(str(tmp_path / "missing"))
    (tmp_path / "letter.txt").write_text("mine")
    for use in (open_folder, make_folder):
        with pytest.raises(UserError, match="holds no backups"):
            use(str(tmp_path))
    with pytest.raises(UserError, match=r"letter\.txt: "):
        make_folder(str(tmp_path / "letter.txt"))
    with pytest.raises(UserError, match="cannot be kept in s3:// yet"):
        make_folder("s3://bucket/backups")


def test_half_a_backup_is_none(folder: Folder) -> None:
    with pytest.raises(UserError, match="holds no backup yet"):
        folder.newest()
    BatchFile(folder, "data/topic/0", 0).seal(0)
    with pytest.raises(UserError, match="only the beginning of one") as refused:
        folder.newest()
    assert "headrace backup create" in refused.value.fix


def test_a_file_that_is_gone_cut_or_spoilt_is_named(folder: Folder) -> None:
    _, file = save(folder)
    path = folder.path_of(file.name)
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    folder.check(file, whole=False)
    with pytest.raises(UserError, match="its checksum does not fit"):
        folder.check(file, whole=True)
    path.write_bytes(content[:-1])
    with pytest.raises(UserError, match=f"it has {len(content) - 1} bytes, and had {len(content)}"):
        folder.check(file, whole=False)
    path.unlink()
    with pytest.raises(UserError, match="No such file"):
        folder.check(file, whole=False)


def test_a_folder_of_a_newer_version_or_with_a_spoilt_mark_is_refused(folder: Folder) -> None:
    mark = folder.path / "headrace-backups"
    head = b"headrace-backups 2"
    mark.write_bytes(head + b" crc32c=%08x\n" % checksum(head, b""))
    with pytest.raises(UserError, match="it has format 2"):
        open_folder(str(folder.path))
    mark.write_bytes(b"headrace-backups 2\n")
    with pytest.raises(UserError, match="is damaged"):
        make_folder(str(folder.path))


def test_what_nobody_names_goes_and_the_rest_stays(folder: Folder) -> None:
    _, file = save(folder)
    BatchFile(folder, "data/topic/1", 0).seal(0)
    folder.remove_all_but({file.name})
    assert [str(path.relative_to(folder.path)) for path in (folder.path / "data").glob("*/*/*")] == [file.name]


def test_one_makes_a_backup_at_a_time(folder: Folder) -> None:
    with folder.locked(), pytest.raises(UserError, match="another process makes a backup"), folder.locked():
        raise AssertionError
    with folder.locked():
        pass
