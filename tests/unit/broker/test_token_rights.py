"""Rights of a token's session: never more than its owner's, nor more than its scope."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.broker.security import token_rights
from headrace.broker.security.rights import EVERY_RIGHT, REMEMBERED_NAME_MAX, Rights
from headrace.broker.security.token_rights import TokenRights
from headrace.security.operations import OPERATIONS_OF, Operation, ResourceType
from headrace.security.scope import scope_of

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP


class Some(Rights):
    """The rights to what is listed, and to nothing else."""

    __slots__ = ("listed",)

    is_unlimited = False

    def __init__(self, *listed: tuple[Operation, ResourceType, str]) -> None:
        self.listed = set(listed)

    def may(self, operation: Operation, kind: ResourceType, name: str) -> bool:
        return (operation, kind, name) in self.listed

    def may_on_any(self, operation: Operation, kind: ResourceType) -> bool:
        return any(each[:2] == (operation, kind) for each in self.listed)


THREE = st.tuples(
    st.sampled_from([Operation.READ, Operation.WRITE]), st.sampled_from([TOPIC, GROUP]), st.sampled_from("ab")
)


@given(st.sets(THREE), st.sets(THREE), THREE)
def test_they_are_what_both_allow(owners, granted, asked) -> None:
    grants = [
        f"{operation.name.lower()} {kind.name.lower()} {name}" for operation, kind, name in granted if kind == TOPIC
    ]
    scope = scope_of([{"may": grants}])
    rights = TokenRights(Some(*owners), "t1", scope)
    for _ in range(2):
        assert rights.may(*asked) == (asked in owners and asked in granted and asked[1] == TOPIC)
    assert rights.may_on_any(*asked[:2]) == any(rights.may(*asked[:2], name) for name in "ab")


def test_they_are_limited_also_where_nobody_elses_are() -> None:
    rights = TokenRights(EVERY_RIGHT, "t1", scope_of([{"may": ["read topic orders"]}]))
    assert not rights.is_unlimited and rights.token_id == "t1" and not EVERY_RIGHT.token_id
    assert rights.topic(Operation.DESCRIBE, "orders") and not rights.topic(Operation.WRITE, "orders")
    assert not rights.cluster(Operation.DESCRIBE) and not rights.may_on_any(Operation.WRITE, TOPIC)
    assert rights.operations(TOPIC, "orders") == 1 << Operation.READ | 1 << Operation.DESCRIBE
    assert rights.operations(TOPIC, "other") == 0
    assert TokenRights(EVERY_RIGHT, "t1", scope_of([])).operations(TOPIC, "t") == sum(
        1 << x for x in OPERATIONS_OF[TOPIC]
    )


def test_what_the_owner_loses_is_lost_at_once() -> None:
    owner = Some((Operation.READ, TOPIC, "t"))
    rights = TokenRights(owner, "t1", scope_of([]))
    assert rights.topic(Operation.READ, "t")
    owner.listed.clear()
    assert not rights.topic(Operation.READ, "t") and not rights.may_on_any(Operation.READ, TOPIC)


def test_what_is_remembered_has_a_bound(monkeypatch) -> None:
    monkeypatch.setattr(token_rights, "SCOPE_ANSWERS_MAX", 2)
    rights = TokenRights(EVERY_RIGHT, "t1", scope_of([{"may": ["read topic a*"]}]))
    for name in ("a", "b", "a1", "b1", "a"):
        assert rights.topic(Operation.READ, name) == name.startswith("a")
    assert len(rights._known) <= 2


def test_names_that_are_longer_than_any_topics_are_not_remembered() -> None:
    rights = TokenRights(EVERY_RIGHT, "t", scope_of([{"may": ["read topic *"]}]))
    for length in (REMEMBERED_NAME_MAX, REMEMBERED_NAME_MAX + 1):
        assert rights.topic(Operation.READ, "n" * length)
    assert len(rights._known) == 1
