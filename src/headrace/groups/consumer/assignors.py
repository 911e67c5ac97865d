"""Server-side assignors: the target assignment of a consumer group.

    uniform   shares that differ by at most one, and as few partitions as possible change hands
    range     each topic cut into contiguous ranges, so that partition n of topics of one size has one owner

Both are calculations, the same for the same input in whatever order it comes. `former` is the last target, `subscribed`
the topic ids of every member, `counts` the number of partitions of every topic that anyone reads.
"""

from collections.abc import Callable, Mapping

from headrace.groups.consumer.assign_mixed import assign_mixed
from headrace.groups.partitions import Part, Parts

Target = dict[str, Parts]
Assignor = Callable[[Mapping[str, frozenset[bytes]], Mapping[bytes, int], Mapping[str, Parts]], Target]


def assign_uniform(
    subscribed: Mapping[str, frozenset[bytes]], counts: Mapping[bytes, int], former: Mapping[str, Parts]
) -> Target:
    if not subscribed:
        return {}
    wishes = set(subscribed.values())
    if len(wishes) > 1:
        return assign_mixed(subscribed, counts, former)
    topics = wishes.pop()
    return _share_out({(topic, number) for topic in topics for number in range(counts[topic])}, subscribed, former)


def _share_out(parts: set[Part], members: Mapping[str, frozenset[bytes]], former: Mapping[str, Parts]) -> Target:
    """The target when all members want the same: every share is the quota or one more."""
    quota, extra = divmod(len(parts), len(members))
    kept = {member: sorted(former.get(member, frozenset()) & parts) for member in sorted(members)}
    # Members that have most keep the larger shares: none of their partitions has to move for it.
    shares: dict[str, list[Part]] = {}
    for member in sorted(kept, key=lambda each: -len(kept[each])):
        larger = extra > 0
        extra -= larger
        shares[member] = kept[member][: quota + larger]
    left = sorted(parts.difference(*shares.values()))
    extra = len(parts) % len(members)
    for place, (member, share) in enumerate(shares.items()):
        missing = quota + (place < extra) - len(share)
        if missing:
            shares[member] = share + left[-missing:]
            del left[-missing:]
    return {member: frozenset(share) for member, share in shares.items()}


def assign_range(
    subscribed: Mapping[str, frozenset[bytes]], counts: Mapping[bytes, int], former: Mapping[str, Parts]
) -> Target:
    target: dict[str, set[Part]] = {member: set() for member in subscribed}
    members = sorted(subscribed)
    for topic, count in counts.items():
        readers = [member for member in members if topic in subscribed[member]]
        begin = 0
        for place, member in enumerate(readers):
            end = begin + count // len(readers) + (place < count % len(readers))
            target[member].update((topic, number) for number in range(begin, end))
            begin = end
    return {member: frozenset(parts) for member, parts in target.items()}


ASSIGNORS: Mapping[str, Assignor] = {"uniform": assign_uniform, "range": assign_range}
