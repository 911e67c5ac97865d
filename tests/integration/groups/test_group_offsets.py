"""What a group has committed: kept with its metadata, found again by whoever comes next, whatever the library."""

import pytest

from clients.members.member import LIBRARIES, PYTHON_LIBRARIES, Committed, Read

METADATA = 'größe 水 {"a": "\\u0000"}\t' + "x" * 1000


@pytest.mark.parametrize("library", LIBRARIES)
def test_commit_and_resume(group, fill, library: str) -> None:
    first_half = fill(10)
    member = group.add(library)
    group.read_until(first_half)
    assert member.commit(METADATA) == dict.fromkeys(group.partitions, 10)
    assert member.committed(3) == Committed(10, METADATA)
    group.leave(member)

    second_half = fill(5)
    successor = group.add(library)
    group.read_until(second_half)
    assert set(successor.reads) == second_half

    successor.seek(2, 4)
    rewound = {Read(2, offset) for offset in range(4, 15)}
    successor.reads.clear()
    group.until(lambda: bool(group.poll()) and rewound <= set(successor.reads))
    assert set(successor.reads) == rewound


@pytest.mark.parametrize("library", [*PYTHON_LIBRARIES, pytest.param("java", marks=pytest.mark.long), "franz-go"])
def test_auto_commit(group, fill, library: str) -> None:
    expected = fill(4)
    member = group.add(library, auto_commit=True)
    group.read_until(expected)
    # It commits what it has handed out before, when it is asked for more.
    group.until(lambda: bool(group.poll()) and member.committed(0) is not None and member.committed(0).offset == 4)
    group.kill(member)


@pytest.mark.long
def test_a_library_reads_what_another_committed(group, fill) -> None:
    expected = fill(2)
    # Not confluent-kafka: it ends the metadata that it sends with a zero byte of its own.
    member = group.add("franz-go")
    group.read_until(expected)
    member.commit(METADATA)
    group.leave(member)
    for library in LIBRARIES:
        member = group.add(library)
        group.settle()
        assert member.committed(5) == Committed(2, METADATA), library
        assert member.reads == []
        group.leave(member)


def test_groups_do_not_see_each_other(new_group, fill) -> None:
    expected = fill(3)
    groups = [new_group(), new_group()]
    for each in groups:
        member = each.add("confluent-kafka")
        each.read_until(expected)
        assert member.committed(0) is None
        member.commit()
