"""Rights by rules: remembered until the rules change, none before the first image, and settings that make no sense."""

import gc

import pytest

from headrace.base.errors import UserError
from headrace.broker.security.authorization import (
    ANSWERS_MAX,
    KAFKAS_AUTHORIZER,
    Authorization,
    open_authorization,
)
from headrace.broker.security.rights import EVERY_RIGHT, REMEMBERED_NAME_MAX
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import Acl
from headrace.cluster.records import acl_key
from headrace.security.operations import THE_CLUSTER, Operation, Permission, ResourceType, bits

ALICE, HOST = "User:alice", "10.0.0.1"
READ_ORDERS = Acl(2, "orders", 3, ALICE, "*", Operation.READ, Permission.ALLOW)


def rules(*acls: Acl) -> dict[str, Acl]:
    return {acl_key(acl): acl for acl in acls}


def test_rights_go_by_new_rules_at_once() -> None:
    authorization = Authorization(frozenset(), False)
    rights = authorization.rights_of(ALICE, HOST)
    assert not rights.is_unlimited
    authorization.on_acls(rules(READ_ORDERS))
    assert rights.topic(Operation.READ, "orders")
    assert rights.may_on_any(Operation.READ, ResourceType.TOPIC)
    assert rights.operations(ResourceType.TOPIC, "orders") == 1 << Operation.READ | 1 << Operation.DESCRIBE
    authorization.on_acls(rules())
    assert not rights.topic(Operation.READ, "orders")
    assert not rights.may_on_any(Operation.READ, ResourceType.TOPIC)
    assert rights.operations(ResourceType.TOPIC, "orders") == 0


@pytest.mark.parametrize("open_", [False, True])
def test_nobody_may_do_anything_before_the_rules_are_there(open_: bool) -> None:
    rights = Authorization(frozenset(), open_).rights_of(ALICE, HOST)
    assert not rights.topic(Operation.READ, "orders")
    assert not rights.cluster(Operation.DESCRIBE)


def test_the_same_rights_for_all_connections_of_a_principal_and_no_longer_than_they_are() -> None:
    authorization = Authorization(frozenset(), False)
    rights = authorization.rights_of(ALICE, HOST)
    assert authorization.rights_of(ALICE, HOST) is rights
    assert authorization.rights_of(ALICE, "10.0.0.2") is not rights
    del rights
    gc.collect()
    assert len(authorization._rights) == 0


def test_what_rights_remember_has_a_bound() -> None:
    authorization = Authorization(frozenset(), False)
    authorization.on_acls(rules(READ_ORDERS))
    rights = authorization.rights_of(ALICE, HOST)
    for number in range(ANSWERS_MAX + 1):
        rights.topic(Operation.READ, f"no-{number}")
    assert len(rights._known) <= ANSWERS_MAX  # type: ignore[attr-defined]
    assert rights.topic(Operation.READ, "orders")


def test_rights_do_not_remember_names_that_are_longer_than_any_topics() -> None:
    """Ten thousand of 32 KiB were 320 MiB, for anybody who asks for them."""
    authorization = Authorization(frozenset(), False)
    authorization.on_acls(rules(READ_ORDERS._replace(name="n" * REMEMBERED_NAME_MAX)))
    rights = authorization.rights_of(ALICE, HOST)
    assert rights.topic(Operation.READ, "n" * REMEMBERED_NAME_MAX)
    assert not rights.topic(Operation.READ, "n" * (REMEMBERED_NAME_MAX + 1))
    assert len(rights._known) == 1  # type: ignore[attr-defined]


def test_super_users_have_every_right() -> None:
    authorization = Authorization(frozenset({ALICE}), False)
    assert authorization.rights_of(ALICE, HOST) is EVERY_RIGHT
    assert EVERY_RIGHT.operations(ResourceType.CLUSTER, THE_CLUSTER) == bits(ResourceType.CLUSTER)


def opened(**settings: str) -> Authorization | None:
    return open_authorization(BrokerConfig({name.replace("_", "."): text for name, text in settings.items()}))


def test_without_an_authorizer_there_is_none() -> None:
    assert opened() is None
    assert opened(super_users=ALICE) is None


def test_settings_that_make_no_sense_are_refused_with_their_fix() -> None:
    with pytest.raises(UserError, match=KAFKAS_AUTHORIZER):
        opened(authorizer_class_name="kafka.security.authorizer.AclAuthorizer")
    with pytest.raises(UserError, match="User:NAME"):
        opened(authorizer_class_name=KAFKAS_AUTHORIZER, super_users="alice")
    both = opened(authorizer_class_name=KAFKAS_AUTHORIZER, super_users=f" {ALICE} ; User:CN=b,O=c;")
    assert both is not None
    assert both.rights_of(ALICE, HOST).is_unlimited and both.rights_of("User:CN=b,O=c", HOST).is_unlimited
    assert not both.rights_of("User:CN=b", HOST).is_unlimited
