"""Rules by themselves: which are allowed, which a filter finds, from which hosts they speak."""

import pytest

from headrace.base.errors import Refused
from headrace.cluster.entities import Acl
from headrace.security.acl import AclFilter, address_of, check_acl, check_filter, parse_host
from headrace.security.operations import Operation, PatternType, Permission, ResourceType
from headrace.wire.codes import ErrorCode

GOOD = Acl(ResourceType.TOPIC, "orders", PatternType.LITERAL, "User:alice", "*", Operation.READ, Permission.ALLOW)


def test_a_good_rule_passes() -> None:
    for acl in (
        GOOD,
        GOOD._replace(host="10.0.0.0/8"),
        GOOD._replace(host="::1", pattern_type=PatternType.PREFIXED),
        GOOD._replace(resource_type=ResourceType.CLUSTER, name="kafka-cluster"),
        GOOD._replace(principal="Group:ops", operation=Operation.ALL, permission=Permission.DENY),
    ):
        check_acl(acl)


@pytest.mark.parametrize(
    "wrong",
    [
        {"resource_type": ResourceType.ANY},
        {"resource_type": 0},
        {"resource_type": 99},
        {"name": ""},
        {"name": "x" * 32_768},
        {"resource_type": ResourceType.CLUSTER, "name": "orders"},
        {"pattern_type": PatternType.ANY},
        {"pattern_type": PatternType.MATCH},
        {"pattern_type": 0},
        {"operation": Operation.ANY},
        {"operation": 0},
        {"operation": 99},
        {"permission": Permission.ANY},
        {"permission": 0},
        {"principal": "alice"},
        {"principal": ""},
        {"host": ""},
        {"host": "example.org"},
        {"host": "10.0.0.1/8"},
        {"host": "10.0.0.0/33"},
    ],
)
def test_a_wrong_rule_is_refused_as_kafka_refuses_it(wrong: dict[str, object]) -> None:
    with pytest.raises(Refused) as refusal:
        check_acl(GOOD._replace(**wrong))  # type: ignore[arg-type]
    assert refusal.value.code == ErrorCode.INVALID_REQUEST
    assert refusal.value.message


PREFIXED = GOOD._replace(name="ord", pattern_type=PatternType.PREFIXED)
ALL_TOPICS = GOOD._replace(name="*")
OTHERS = GOOD._replace(name="bills")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (AclFilter(), {GOOD, PREFIXED, ALL_TOPICS, OTHERS}),
        (AclFilter(name="orders"), {GOOD}),
        (AclFilter(name="orders", pattern_type=PatternType.MATCH), {GOOD, PREFIXED, ALL_TOPICS}),
        (AclFilter(name="or", pattern_type=PatternType.MATCH), {ALL_TOPICS}),
        (AclFilter(name="ord", pattern_type=PatternType.PREFIXED), {PREFIXED}),
        (AclFilter(name="ord", pattern_type=PatternType.LITERAL), set()),
        (AclFilter(name="*", pattern_type=PatternType.LITERAL), {ALL_TOPICS}),
        (AclFilter(pattern_type=PatternType.PREFIXED), {PREFIXED}),
        (AclFilter(pattern_type=PatternType.MATCH), {GOOD, PREFIXED, ALL_TOPICS, OTHERS}),
        (AclFilter(resource_type=ResourceType.GROUP), set()),
        (AclFilter(principal="User:bob"), set()),
        (AclFilter(principal="User:alice", host="*", operation=Operation.READ), {GOOD, PREFIXED, ALL_TOPICS, OTHERS}),
        (AclFilter(operation=Operation.ALL), set()),
        (AclFilter(permission=Permission.DENY), set()),
    ],
)
def test_a_filter_finds_what_kafkas_does(asked: AclFilter, found: set[Acl]) -> None:
    assert {acl for acl in (GOOD, PREFIXED, ALL_TOPICS, OTHERS) if asked.finds(acl)} == found


@pytest.mark.parametrize(
    "asked", [AclFilter(resource_type=0), AclFilter(pattern_type=9), AclFilter(operation=0), AclFilter(permission=7)]
)
def test_a_filter_with_an_unknown_number_is_refused(asked: AclFilter) -> None:
    with pytest.raises(Refused) as refusal:
        check_filter(asked)
    assert refusal.value.code == ErrorCode.INVALID_REQUEST


def test_addresses_are_compared_as_addresses_and_not_as_text() -> None:
    local, block = parse_host("0:0:0:0:0:0:0:1"), parse_host("10.0.0.0/8")
    assert local is not None and block is not None
    assert address_of("::1") in local
    assert address_of("::ffff:10.1.2.3") in block
    assert address_of("11.0.0.1") not in block
    assert address_of("fe80::1%eth0") == address_of("fe80::1")
    assert address_of("?") is None
    assert parse_host("*") is None
