"""The authorizer against Kafka's rules, and against a model that looks at every rule there is."""

from collections.abc import Sequence
from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cluster.entities import Acl
from headrace.security.authorizer import Authorizer
from headrace.security.operations import Operation, PatternType, Permission, ResourceType

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
ALICE, BOB, HOST = "User:alice", "User:bob", "10.0.0.1"


def rule(
    name: str = "orders",
    operation: Operation = Operation.READ,
    permission: Permission = Permission.ALLOW,
    *,
    principal: str = ALICE,
    host: str = "*",
    pattern: PatternType = PatternType.LITERAL,
    kind: ResourceType = TOPIC,
) -> Acl:
    return Acl(kind, name, pattern, principal, host, operation, permission)


def may(
    rules: Sequence[Acl],
    operation: Operation = Operation.READ,
    name: str = "orders",
    principal: str = ALICE,
    host: str = HOST,
    kind: ResourceType = TOPIC,
) -> bool:
    return Authorizer(rules).decide(principal, host, operation, kind, name).allowed


PREFIXED, DENY = PatternType.PREFIXED, Permission.DENY


def test_nothing_is_allowed_without_a_rule() -> None:
    assert not may([])
    assert may([rule()])
    assert not may([rule()], name="others")
    assert not may([rule()], principal=BOB)
    assert not may([rule()], kind=GROUP)
    assert not may([rule()], Operation.WRITE)


def test_patterns() -> None:
    assert may([rule("ord", pattern=PREFIXED)])
    assert not may([rule("ord", pattern=PREFIXED)], name="or")
    assert may([rule("*")], name="anything")
    assert not may([rule("*", pattern=PREFIXED)], name="anything")
    assert may([rule("*", pattern=PREFIXED)], name="*anything", kind=TOPIC)


def test_everybody_and_all_operations() -> None:
    assert may([rule(principal="User:*")], principal=BOB)
    assert may([rule(operation=Operation.ALL)], Operation.ALTER_CONFIGS)


def test_a_denial_wins_over_every_permission() -> None:
    everything = rule("*", Operation.ALL)
    assert not may([everything, rule(permission=DENY)])
    assert not may([everything, rule("o", permission=DENY, pattern=PREFIXED)])
    assert not may([everything, rule("*", Operation.ALL, DENY, principal="User:*")])
    assert may([everything, rule(permission=DENY, principal=BOB)])


@pytest.mark.parametrize("given", [Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER])
def test_some_operations_bring_describe_with_them(given: Operation) -> None:
    assert may([rule(operation=given)], Operation.DESCRIBE)
    assert not may([rule(operation=given)], Operation.DESCRIBE_CONFIGS)
    # The denial of one does not deny what its permission would bring.
    assert may([rule("*", Operation.DESCRIBE), rule(operation=given, permission=DENY)], Operation.DESCRIBE)


def test_altering_settings_brings_reading_them() -> None:
    assert may([rule(operation=Operation.ALTER_CONFIGS)], Operation.DESCRIBE_CONFIGS)
    assert not may([rule(operation=Operation.ALTER_CONFIGS)], Operation.DESCRIBE)
    assert not may([rule(operation=Operation.DESCRIBE)], Operation.READ)


def test_hosts() -> None:
    assert may([rule(host="10.0.0.1")]) and not may([rule(host="10.0.0.2")])
    assert may([rule(host="10.0.0.0/24")]) and not may([rule(host="10.1.0.0/16")])
    assert may([rule(host="::/0")], host="::1") and not may([rule(host="::/0")])
    assert not may([rule(), rule(permission=DENY, host="10.0.0.0/24")])
    assert may([rule(), rule(permission=DENY, host="10.9.0.0/24")])


def test_hosts_of_ipv4_that_are_written_as_ipv6() -> None:
    assert may([rule(host="::ffff:10.0.0.1")]) and not may([rule(host="::ffff:10.0.0.2")])
    assert not may([rule(), rule(permission=DENY, host="::ffff:10.0.0.1")])
    assert not may([rule(), rule(permission=DENY, host="::ffff:10.0.0.0/120")])
    assert not may([rule(), rule(permission=DENY, host="::ffff:0:0/96")])
    assert may([rule(), rule(permission=DENY, host="::ffff:10.0.1.0/120")])
    assert not may([rule(), rule(permission=DENY, host="10.0.0.1")], host="::ffff:10.0.0.1")


def test_what_cannot_be_compared_allows_nobody_and_denies_everybody() -> None:
    assert not may([rule(host="10.0.0.1")], host="?")
    assert not may([rule(), rule(permission=DENY, host="10.0.0.1")], host="?")
    # As another release may have stored it.
    assert not may([rule(host="a name")])
    assert not may([rule(), rule(permission=DENY, host="a name")])


def test_super_users_are_asked_nothing() -> None:
    denied = [rule("*", Operation.ALL, DENY, principal="User:*")]
    verdict = Authorizer(denied, {ALICE}).decide(ALICE, HOST, Operation.READ, TOPIC, "orders")
    assert verdict.allowed and "super user" in verdict.cause
    assert Authorizer(denied, {ALICE}).decide_any(ALICE, HOST, Operation.WRITE, TOPIC)


def test_where_no_rule_is_found_everybody_may_if_that_is_set() -> None:
    authorizer = Authorizer([rule(principal=BOB)], allows_where_no_rule=True)
    assert authorizer.decide(ALICE, HOST, Operation.READ, TOPIC, "others").allowed
    # A rule of anybody's covers the resource.
    assert not authorizer.decide(ALICE, HOST, Operation.READ, TOPIC, "orders").allowed
    assert authorizer.decide_any(ALICE, HOST, Operation.WRITE, TOPIC)
    covering = Authorizer([rule("*", principal=BOB)], allows_where_no_rule=True)
    assert not covering.decide_any(ALICE, HOST, Operation.WRITE, TOPIC)


def test_a_verdict_names_the_rule_that_decided() -> None:
    allowing, denying = rule("ord", pattern=PREFIXED), rule(permission=DENY)
    assert Authorizer([allowing]).decide(ALICE, HOST, Operation.READ, TOPIC, "orders").rule == allowing
    assert Authorizer([allowing, denying]).decide(ALICE, HOST, Operation.READ, TOPIC, "orders").rule == denying


# -- against a model ---------------------------------------------------------------------------------------------------

IMPLIED_BY = {
    Operation.DESCRIBE: {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER},
    Operation.DESCRIBE_CONFIGS: {Operation.ALTER_CONFIGS},
}
NAMES = ["a", "ab", "abc", "b", "*"]
HOSTS = ["*", "10.0.0.1", "10.0.0.0/24", "10.9.0.0/16", "::1"]
OPERATIONS = [
    Operation.ALL,
    Operation.READ,
    Operation.WRITE,
    Operation.DESCRIBE,
    Operation.ALTER_CONFIGS,
    Operation.DESCRIBE_CONFIGS,
]
rules = st.builds(
    Acl,
    st.just(int(TOPIC)),
    st.sampled_from(NAMES),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    st.sampled_from([ALICE, BOB, "User:*"]),
    st.sampled_from(HOSTS),
    st.sampled_from(OPERATIONS),
    st.sampled_from([Permission.ALLOW, DENY]),
    st.just(0),
)


def covers(acl: Acl, name: str) -> bool:
    return name.startswith(acl.name) if acl.pattern_type == PREFIXED else acl.name in ("*", name)


def speaks_of(acl: Acl, principal: str, host: str) -> bool:
    at_home = acl.host == "*" or ip_address(host) in ip_network(acl.host)
    return acl.principal in (principal, "User:*") and at_home


def model(acls: Sequence[Acl], principal: str, host: str, operation: Operation, name: str, open_: bool) -> bool:
    covering = [acl for acl in acls if covers(acl, name)]
    mine = [acl for acl in covering if speaks_of(acl, principal, host)]
    if any(acl.permission == DENY and acl.operation in (operation, Operation.ALL) for acl in mine):
        return False
    enough = {operation, Operation.ALL, *IMPLIED_BY.get(operation, ())}
    if any(acl.permission == Permission.ALLOW and acl.operation in enough for acl in mine):
        return True
    return open_ and not covering


asked = (
    st.lists(rules, max_size=8),
    st.sampled_from([ALICE, BOB, "User:carol"]),
    st.sampled_from(["10.0.0.1", "10.0.0.9", "10.9.1.1", "::1"]),
    st.sampled_from(OPERATIONS[1:]),
    st.booleans(),
)


@settings(max_examples=400, deadline=None)
@given(*asked, st.sampled_from([*NAMES, "abcd", "c"]))
def test_decisions_are_those_of_the_model(
    acls: list[Acl], principal: str, host: str, operation: Operation, open_: bool, name: str
) -> None:
    verdict = Authorizer(acls, allows_where_no_rule=open_).decide(principal, host, operation, TOPIC, name)
    assert verdict.allowed == model(acls, principal, host, operation, name, open_)


@settings(max_examples=400, deadline=None)
@given(*asked)
def test_on_any_resource_means_that_there_is_a_name_for_which_it_is_allowed(
    acls: list[Acl], principal: str, host: str, operation: Operation, open_: bool
) -> None:
    """Every name that a rule has, and one behind each prefix that no rule has."""
    candidates = {*NAMES, *(f"{acl.name}\uffff" for acl in acls), "\uffff"}
    found = any(model(acls, principal, host, operation, name, open_) for name in candidates)
    assert Authorizer(acls, allows_where_no_rule=open_).decide_any(principal, host, operation, TOPIC) == found


@settings(max_examples=200, deadline=None)
@given(st.lists(rules, max_size=8, unique=True), st.lists(rules, max_size=4), *asked[1:], st.sampled_from(NAMES))
def test_changes_make_the_authorizer_that_the_rules_would_have_made(
    before: list[Acl], wanted: list[Acl], principal: str, host: str, operation: Operation, open_: bool, name: str
) -> None:
    """A few are taken out, others come; the one that was there before stays as it was."""
    gone, new = before[::2], [acl for acl in dict.fromkeys(wanted) if acl not in before]
    after = [*before[1::2], *new]
    first = Authorizer(before, allows_where_no_rule=open_)
    question = principal, host, operation, TOPIC
    was = first.decide(*question, name).allowed, first.decide_any(*question)
    changed, anew = first.changed(gone, new), Authorizer(after, allows_where_no_rule=open_)
    assert changed.decide(*question, name).allowed == anew.decide(*question, name).allowed
    assert changed.decide_any(*question) == anew.decide_any(*question)
    assert (changed._rules.keys(), changed._counts) == (anew._rules.keys(), anew._counts)
    assert (first.decide(*question, name).allowed, first.decide_any(*question)) == was
