"""The rules that records of groups keep, given the records before them: asserted before the append.

Not when a record is applied: of a compacted log the records between two of one key may be missing, on a replica that was
behind also the tombstone between two lives of a group. Nor behind damage that an unclean election gave up (`is_whole` is
False): whatever is left has to be served.
"""

from headrace.groups.classic.records import GroupRecord
from headrace.groups.group import Group


def assert_generation_rises(group: Group, record: GroupRecord) -> None:
    generation = group.classic.generation
    assert record.value is None or record.value.generation >= generation, (record, generation)
