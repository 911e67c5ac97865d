"""The rules that every record of a group keeps, given the records before it: asserted before it is appended, and again when
it is read back or applied.

They hold in a log that is whole. Behind damage that an unclean election gave up (`is_whole` is False) records are missing,
and whatever is left has to be served.
"""

from headrace.groups.classic.records import GroupRecord
from headrace.groups.consumer.invariants import assert_consumer_follows
from headrace.groups.group import Group
from headrace.groups.offsets.records import OffsetRecord
from headrace.groups.records import Record


def assert_follows(group: Group, record: Record) -> None:
    if isinstance(record, OffsetRecord):
        return
    if isinstance(record, GroupRecord):
        generation = group.classic.generation
        assert record.value is None or record.value.generation >= generation, (record, generation)
    elif group.consumer is not None:
        assert_consumer_follows(group.consumer, record)
