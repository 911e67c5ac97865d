"""Whose change of a webhook counts when gateways change it at the same time, and which groups are left over."""

from dataclasses import replace
from itertools import count

import pytest

from headrace.gateway.webhooks.ledger import Ledger
from headrace.gateway.webhooks.leftovers import Leftovers
from headrace.gateway.webhooks.retry import RetryPolicy
from headrace.gateway.webhooks.source import dead_letters_of
from headrace.gateway.webhooks.subscription import Change, Offsets, State, Subscription, change_record
from headrace.wire.records import Record

HOOK = Subscription(
    id="wh-1",
    topic="orders",
    group="webhook.wh-1",
    callback_url="https://example.com/",
    secret="whsec_c2VjcmV0",
    dead_letter_topic="orders.dead-letters",
    messages_max=100,
    timeout_ms=1000,
    retry=RetryPolicy(),
    state="active",
    created_ms=1,
    redrive_until={},
)
OFFSETS = count()


def put(subscription: Subscription) -> Record:
    return Record(next(OFFSETS), 0, subscription.id.encode(), subscription.to_record(), [])


def change(name: Change, value: State | Offsets) -> Record:
    return Record(next(OFFSETS), 0, f"wh-1/{name}".encode(), change_record(name, value), [])


def delete(id: str = "wh-1") -> Record:
    return Record(next(OFFSETS), 0, id.encode(), None, [])


def read(*records: Record) -> tuple[dict[str, Subscription], set[str]]:
    """What there is after these, and the groups that are left over."""
    leftovers = Leftovers()
    ledger = Ledger(leftovers.note)
    for record in records:
        ledger.apply(record)
    return ledger.subscriptions, leftovers.groups


def test_changes_of_different_things_do_not_undo_each_other() -> None:
    there, _ = read(put(HOOK), change("redrive_until", {0: 7}), change("state", "paused"))
    assert there == {"wh-1": replace(HOOK, state="paused", redrive_until={0: 7})}
    # As compaction leaves them.
    assert there == read(put(HOOK), change("state", "paused"), change("redrive_until", {0: 7}))[0]


def test_what_was_deleted_does_not_come_back_by_a_late_change() -> None:
    assert read(put(HOOK), delete(), change("state", "paused"))[0] == {}
    assert read(change("state", "paused"))[0] == {}


def test_of_two_that_want_a_group_the_first_has_it() -> None:
    first, second = replace(HOOK, group="mine"), replace(HOOK, id="wh-2", group="mine")
    assert read(put(first), put(second))[0] == {"wh-1": first}
    assert read(put(first), put(second), delete())[0] == {}
    assert read(put(first), delete(), put(second))[0] == {"wh-2": second}
    assert list(read(put(first), put(replace(second, group="mine.redrive")))[0]) == ["wh-1"]


@pytest.mark.parametrize("value", [b"", b"{}", b"no json", b'{"format": 2, "state": "gone"}', b'{"format": 1}'])
def test_a_change_that_is_not_understood_changes_nothing(value: bytes) -> None:
    for key in (b"wh-1/state", b"wh-1/colour", b"wh-1/redriven"):
        assert read(put(HOOK), Record(9, 0, key, value, []))[0] == {"wh-1": HOOK}


def test_groups_of_what_was_deleted_are_left_over() -> None:
    both = {"webhook.wh-1", "webhook.wh-1.redrive"}
    assert read(put(HOOK))[1] == set()
    assert read(put(HOOK), delete())[1] == both
    assert read(delete())[1] == both
    # A group that somebody named is theirs, and so may be one that is called as that of a redrive would be.
    named = put(replace(HOOK, group="mine"))
    assert read(named, delete())[1] == set()
    assert read(named, change("redrive_until", {0: 7}), delete())[1] == {"mine.redrive"}
    assert read(named, change("redriven", {0: 7}), delete())[1] == {"mine.redrive"}
    assert read(put(HOOK), delete(), put(replace(HOOK, id="wh-2", group="webhook.wh-1")))[1] == set()


def test_the_group_of_a_redrive_is_left_over_when_it_is_done() -> None:
    begun = [put(HOOK), change("redrive_until", {0: 7, 1: 0})]
    assert read(*begun)[1] == set()
    done = [*begun, change("redriven", {0: 7})]
    assert read(*done)[1] == {"webhook.wh-1.redrive"}
    assert read(*done, change("redrive_until", {0: 9}))[1] == set()


def test_what_was_redriven_stays_so_whoever_writes_last() -> None:
    slow = [change("redriven", {0: 9, 1: 4}), change("redriven", {0: 7, 2: 1})]
    (there,) = read(put(HOOK), *slow)[0].values()
    assert there.redriven == {0: 9, 1: 4, 2: 1}


def test_a_redrive_passes_over_what_was_redriven_before() -> None:
    source = dead_letters_of(replace(HOOK, redrive_until={0: 9}, redriven={0: 7}))
    headers = [
        (f"headrace-dead-letter-{name}", value)
        for name, value in (
            ("subscription", b"wh-1"),
            ("topic", b"orders"),
            ("partition", b"0"),
            ("offset", b"3"),
            ("timestamp", b"5"),
        )
    ]
    assert source.letter(0, Record(6, 0, None, b"old", headers)) is None
    letter = source.letter(0, Record(7, 0, None, b"new", headers))
    assert letter is not None and letter.record.value == b"new"
    assert source.ends_before(0, 9)
