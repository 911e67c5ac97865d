"""Assignors: everything is assigned once, to someone who wants it, evenly, and little changes hands."""

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.groups.consumer.assignors import assign_range, assign_uniform

TOPICS = [bytes([number]) * 16 for number in range(4)]
COUNTS = st.fixed_dictionaries({topic: st.integers(0, 9) for topic in TOPICS})
WISHES = st.dictionaries(
    st.sampled_from([f"m{number}" for number in range(8)]), st.frozensets(st.sampled_from(TOPICS)), min_size=1
)


def wanted(subscribed, counts):
    return {(topic, number) for topics in subscribed.values() for topic in topics for number in range(counts[topic])}


def check_complete(target, subscribed, counts):
    given_out = [part for parts in target.values() for part in parts]
    assert len(given_out) == len(set(given_out))
    assert set(given_out) == wanted(subscribed, counts)
    assert target.keys() == subscribed.keys()
    assert all(topic in subscribed[member] for member, parts in target.items() for topic, _ in parts)


def read_by_someone(subscribed, counts):
    return {topic: count for topic, count in counts.items() if any(topic in each for each in subscribed.values())}


@settings(deadline=None)
@given(WISHES, COUNTS)
def test_everything_is_given_to_one_who_wants_it(subscribed, counts):
    counts = read_by_someone(subscribed, counts)
    for assign in (assign_uniform, assign_range):
        check_complete(assign(subscribed, counts, {}), subscribed, counts)


@settings(deadline=None)
@given(WISHES, COUNTS, WISHES)
def test_uniform_is_as_even_as_wishes_allow(subscribed, counts, earlier):
    former = assign_uniform(earlier, read_by_someone(earlier, counts), {})
    counts = read_by_someone(subscribed, counts)
    target = assign_uniform(subscribed, counts, former)
    check_complete(target, subscribed, counts)
    for parts in target.values():
        for topic, _ in parts:
            for other, share in target.items():
                if topic in subscribed[other]:
                    assert len(parts) - len(share) <= 1


@settings(deadline=None)
@given(WISHES, COUNTS)
def test_uniform_moves_nothing_without_a_reason(subscribed, counts):
    counts = read_by_someone(subscribed, counts)
    target = assign_uniform(subscribed, counts, {})
    assert assign_uniform(subscribed, counts, target) == target


@settings(deadline=None)
@given(st.integers(1, 12), st.integers(0, 60), st.integers(0, 11))
def test_uniform_moves_only_what_who_left_had(members, partitions, leaver):
    topics = frozenset(TOPICS[:1])
    subscribed = {f"m{number:02}": topics for number in range(members + 1)}
    counts = {TOPICS[0]: partitions}
    before = assign_uniform(subscribed, counts, {})
    gone = sorted(subscribed)[leaver % len(subscribed)]
    del subscribed[gone]
    after = assign_uniform(subscribed, counts, before)
    assert all(before[member] <= after[member] for member in subscribed)


@settings(deadline=None)
@given(st.integers(1, 12), st.integers(0, 60))
def test_uniform_moves_to_a_newcomer_only_its_share(members, partitions):
    topics = frozenset(TOPICS[:1])
    subscribed = {f"m{number:02}": topics for number in range(members)}
    counts = {TOPICS[0]: partitions}
    before = assign_uniform(subscribed, counts, {})
    subscribed["newcomer"] = topics
    after = assign_uniform(subscribed, counts, before)
    moved = sum(len(before[member] - after[member]) for member in before)
    assert moved == len(after["newcomer"]) == partitions // (members + 1)


def test_range_keeps_the_same_numbers_of_topics_together():
    subscribed = dict.fromkeys(["a", "b"], frozenset(TOPICS[:2]))
    target = assign_range(subscribed, {TOPICS[0]: 3, TOPICS[1]: 3}, {})
    assert target["a"] == {(topic, number) for topic in TOPICS[:2] for number in (0, 1)}
    assert target["b"] == {(topic, 2) for topic in TOPICS[:2]}
