"""What a sync proves, and what it does not."""

from random import Random

import pytest
from logs import NOW, PATH, Rig

from headrace.base.errors import DiskFailed
from headrace.log import opening


def run(jobs: list) -> None:
    for job in jobs:
        job()


def test_a_ticket_proves_what_was_there_when_it_began() -> None:
    rig = Rig()
    rig.sync()
    rig.fill(3)
    ticket = rig.log.begin_sync()
    assert ticket is not None
    rig.fill(2)
    run(ticket.jobs)
    assert rig.log.on_synced(ticket) == 3
    assert rig.log.unsynced_messages == 2
    assert rig.sync() == 5
    assert rig.log.begin_sync() is None


def test_a_new_log_syncs_its_directory_and_the_one_above() -> None:
    rig = Rig()
    ticket = rig.log.begin_sync()
    assert ticket is not None
    assert len(ticket.jobs) == 2
    run(ticket.jobs)
    assert PATH.rpartition("/")[2] in rig.machine.directory("/data").durable
    assert len(rig.machine.directory(PATH).durable) == 1


def test_a_plain_append_syncs_one_file() -> None:
    rig = Rig()
    rig.sync()
    rig.fill(1)
    ticket = rig.log.begin_sync()
    assert ticket is not None
    assert [file.path for file in ticket.files] == [rig.log.segments.all[-1].log_path]
    assert len(ticket.jobs) == 1


def test_a_roll_syncs_the_sealed_file_and_the_directory_too() -> None:
    rig = Rig()
    rig.sync()
    rig.fill(1)
    rig.log.roll(NOW)
    rig.fill(1)
    ticket = rig.log.begin_sync()
    assert ticket is not None
    logs = [file.path for file in ticket.files if file.path.endswith(".log")]
    assert logs == [segment.log_path for segment in rig.log.segments.all]
    run(ticket.jobs)
    assert f"{1:020d}.log" in rig.machine.directory(PATH).durable


def test_a_truncation_voids_the_ticket_in_flight() -> None:
    rig = Rig()
    rig.fill(2)
    rig.sync()
    rig.fill(3)
    ticket = rig.log.begin_sync()
    assert ticket is not None
    rig.log.truncate_to(4, NOW)
    rig.fill(4)
    run(ticket.jobs)
    assert rig.log.on_synced(ticket) == 2
    assert rig.sync() == 8


def test_a_truncation_lowers_the_synced_end() -> None:
    rig = Rig()
    rig.fill(5)
    rig.sync()
    rig.log.truncate_to(2, NOW)
    assert rig.log.sync.synced_end == 2
    assert rig.log.begin_sync() is not None


def test_one_ticket_at_a_time() -> None:
    rig = Rig()
    rig.fill(1)
    assert rig.log.begin_sync() is not None
    with pytest.raises(AssertionError):
        rig.log.begin_sync()


def test_a_failed_sync_proves_nothing() -> None:
    rig = Rig()
    rig.sync()
    rig.fill(1)
    rig.machine.fail_syncs.append(".log")
    ticket = rig.log.begin_sync()
    assert ticket is not None
    with pytest.raises(DiskFailed):
        run(ticket.jobs)
    assert rig.log.sync.synced_end == 0


def test_files_are_pinned_while_unsynced() -> None:
    rig = Rig()
    rig.fill(1)
    file = rig.log.segments.all[-1].file
    assert file.pins == 1
    ticket = rig.log.begin_sync()
    assert ticket is not None
    rig.fill(1)
    assert file.pins == 2
    run(ticket.jobs)
    rig.log.on_synced(ticket)
    assert file.pins == 1
    rig.sync()
    assert file.pins == 0


def test_a_log_dropped_in_the_midst_of_a_sync() -> None:
    rig = Rig()
    rig.fill(1)
    ticket = rig.log.begin_sync()
    assert ticket is not None
    rig.log.drop()
    run(ticket.jobs)
    rig.log.on_synced(ticket)
    assert all(file.pins == 0 for file in ticket.files)


def after_a_failed_sync() -> Rig:
    """Ten batches that are proven, ten over two segments whose sync failed; then the process ended."""
    rig = Rig()
    rig.fill(10)
    rig.sync()
    rig.fill(10)
    ticket = rig.log.begin_sync()
    assert ticket is not None
    rig.machine.fail_syncs += [file.path for file in ticket.files]
    for job in ticket.jobs:
        try:
            job()
        except DiskFailed:
            continue
    rig.machine.kill()
    return rig


@pytest.mark.parametrize("seed", range(10))
def test_what_a_failed_sync_left_is_written_again(seed: int) -> None:
    rig = after_a_failed_sync()
    rig.open(recovery_point=10)
    before = rig.contents()
    assert rig.sync() == 20
    rig.machine.crash(Random(seed))
    rig.open(recovery_point=10)
    assert rig.contents() == before


def test_without_that_the_next_sync_would_vouch_for_bytes_that_are_on_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_write_again", lambda *recovered: None)
    rig = after_a_failed_sync()
    rig.open(recovery_point=10)
    assert rig.sync() == 20
    rig.machine.crash(Random(0))
    rig.open(recovery_point=10)
    assert rig.log.end_offset < 20


def after_a_failed_sync_of_the_directory() -> Rig:
    """Ten batches that are proven; then new segments, whose names a failed sync was to prove; then the process ended."""
    rig = Rig()
    rig.fill(10)
    rig.sync()
    rig.fill(10)
    assert rig.log.segments.all[-1].base_offset >= 10
    ticket = rig.log.begin_sync()
    assert ticket is not None
    rig.machine.fail_syncs.append(PATH)
    ticket.jobs.reverse()
    with pytest.raises(DiskFailed):
        run(ticket.jobs)
    rig.machine.kill()
    return rig


@pytest.mark.parametrize("seed", range(10))
def test_names_that_a_failed_sync_left_are_proven_by_the_next_life(seed: int) -> None:
    rig = after_a_failed_sync_of_the_directory()
    rig.open(recovery_point=10)
    before = rig.contents()
    assert rig.sync() == 20
    rig.machine.crash(Random(seed))
    rig.open(recovery_point=10)
    assert rig.contents() == before


def test_without_that_a_power_cut_takes_segments_whose_bytes_are_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_prove_names", lambda log: None)
    ends = set()
    for seed in range(10):
        rig = after_a_failed_sync_of_the_directory()
        rig.open(recovery_point=10)
        assert rig.sync() == 20
        rig.machine.crash(Random(seed))
        ends.add(rig.open(recovery_point=10).end_offset)
    assert min(ends) < 20
