"""Scopes: what caveats leave, and that none gives anything back. Each is compared with a naive reading of its caveats."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.security.operations import OPERATIONS_OF, Operation, ResourceType
from headrace.security.scope import BadCaveat, Scope, scope_of

NAMES = st.text("ab", max_size=3)
KINDS = st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP])
OPERATIONS = st.sampled_from([Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.DELETE])
GRANTS = st.builds(
    lambda operation, kind, name, star: f"{operation} {kind} {name}{'*' if star or not name else ''}",
    st.sampled_from(["read", "describe", "delete", "all"]),
    st.sampled_from(["topic", "group"]),
    NAMES,
    st.booleans(),
)
CAVEATS = st.one_of(
    st.builds(lambda grants: {"may": grants}, st.lists(GRANTS, max_size=4)),
    st.builds(lambda until: {"until": until}, st.integers(0, 10)),
    st.builds(lambda networks: {"from": networks}, st.lists(st.sampled_from(["10.0.0.0/8", "10.1.0.0/16", "::1"]))),
)


@given(st.lists(CAVEATS, max_size=4), CAVEATS, OPERATIONS, KINDS, NAMES)
def test_a_further_caveat_never_gives_anything(caveats, further, operation, kind, name) -> None:
    before, after = scope_of(caveats), scope_of([*caveats, further])
    assert before.may(operation, kind, name) or not after.may(operation, kind, name)
    for host in ("10.1.2.3", "10.2.3.4", "11.0.0.1", "::1", "unknown"):
        assert before.is_from(host) or not after.is_from(host)
    assert after.until_ms is None or before.until_ms is None or after.until_ms <= before.until_ms
    assert after.until_ms is not None or before.until_ms is None


@given(st.lists(CAVEATS, max_size=4), OPERATIONS, KINDS)
def test_names_on_which_an_operation_is_allowed_are_those_that_may_allows(caveats, operation, kind) -> None:
    scope = scope_of(caveats)
    names = scope.names(operation, kind)
    for name in ("", "a", "b", "aa", "ab", "ba", "bb", "aaa", "aab", "aba", "abb", "baa", "bba", "x", "ax", "bbx"):
        covered = names is None or any(each.cover(name) for each in names)
        assert covered == scope.may(operation, kind, name), (caveats, operation, kind, name, names)


@pytest.mark.parametrize(
    ("grant", "allowed", "denied"),
    [
        ("read topic orders", [("READ", "orders"), ("DESCRIBE", "orders")], [("WRITE", "orders"), ("READ", "orders2")]),
        ("read topic orders*", [("READ", "orders2"), ("READ", "orders")], [("READ", "order")]),
        ("describe topic *", [("DESCRIBE", "x")], [("READ", "x"), ("DESCRIBE_CONFIGS", "x")]),
        ("alter-configs topic t", [("DESCRIBE_CONFIGS", "t")], [("DESCRIBE", "t")]),
        ("all topic t", [(each.name, "t") for each in OPERATIONS_OF[ResourceType.TOPIC]], [("READ", "u")]),
    ],
)
def test_grants(grant, allowed, denied) -> None:
    scope = scope_of([{"may": [grant]}])
    for operation, name in allowed:
        assert scope.may(Operation[operation], ResourceType.TOPIC, name), (operation, name)
        assert not scope.may(Operation[operation], ResourceType.GROUP, name)
    for operation, name in denied:
        assert not scope.may(Operation[operation], ResourceType.TOPIC, name), (operation, name)


def test_a_name_may_hold_blanks_and_the_cluster_needs_none() -> None:
    scope = scope_of([{"may": ["read group my group ", "describe cluster"]}])
    assert scope.may(Operation.READ, ResourceType.GROUP, "my group ")
    assert scope.may(Operation.DESCRIBE, ResourceType.CLUSTER, "kafka-cluster")


def test_no_grant_is_nothing_and_no_caveat_is_everything() -> None:
    assert not scope_of([{"may": []}]).may(Operation.READ, ResourceType.TOPIC, "t")
    assert not scope_of([{"from": []}]).is_from("10.0.0.1")
    assert Scope().may(Operation.ALTER, ResourceType.CLUSTER, "kafka-cluster") and Scope().is_from("anywhere")


def test_addresses() -> None:
    scope = scope_of([{"from": ["10.0.0.0/8", "fe80::/10"]}])
    assert scope.is_from("10.9.9.9") and scope.is_from("::ffff:10.9.9.9") and scope.is_from("fe80::1%eth0")
    assert not scope.is_from("192.168.0.1") and not scope.is_from("") and not scope.is_from("unix")


@pytest.mark.parametrize(
    "caveat",
    [
        {},
        {"unknown": 1},
        {"may": ["read topic t"], "else": 1},
        {"may": "read topic t"},
        {"may": [1]},
        {"may": ["read topic"]},
        {"may": ["read topic "]},
        {"may": ["eat topic t"]},
        {"may": ["READ topic t"]},
        {"may": ["any topic t"]},
        {"may": ["read cluster"]},
        {"may": ["read topics t"]},
        {"may": ["read topic t"] * 201},
        {"until": True},
        {"until": "1"},
        {"until": 1.5},
        {"until": -1},
        {"until": None},
        {"until": 1 << 60},
        {"from": ["10.0.0.1/8"]},
        {"from": ["host"]},
        {"from": [1]},
        {"from": "10.0.0.0/8"},
        {"from": ["10.0.0.0/8"] * 101},
    ],
)
def test_an_unknown_caveat_refuses_everything(caveat) -> None:
    with pytest.raises(BadCaveat):
        scope_of([{"may": ["read topic t"]}, caveat])
