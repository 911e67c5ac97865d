"""What a restore would do, and what forbids it."""

from typing import Any

import pytest

from headrace.backup.manifest import Backup, SavedGroup, SavedOffset, SavedPartition, SavedTopic, SavedUser
from headrace.backup.plan import (
    ClusterNow,
    Existing,
    RestorePlan,
    RestoreWish,
    plan_restore,
    settings_to_end_with,
    settings_to_fill_with,
)
from headrace.base.errors import UserError
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import Acl
from headrace.cluster.topic_config import default_topic_config, validate_topic_overrides

ORDERS = SavedTopic(
    "orders", "a", 3, {"min.insync.replicas": "2", "cleanup.policy": "compact"}, True, (SavedPartition(0, 9),)
)
BILLS = SavedTopic("bills", "b", 1, {}, False, (SavedPartition(0, 9), SavedPartition(2, 9)))
GROUP = SavedGroup("billing", "classic", (SavedOffset("orders", 0, 5), SavedOffset("bills", 1, 6, "m")))
BACKUP = Backup(
    "one",
    0,
    "cluster",
    {"log.retention.ms": "-1"},
    (ORDERS, BILLS),
    (GROUP,),
    {"transaction.version": 1, "metadata.version": 29},
)
FEATURES = {"transaction.version": (0, 2)}


def planned(
    topics: dict[str, Existing] | None = None, brokers: int = 3, members: Any = None, **wish: Any
) -> RestorePlan:
    return plan_restore(BACKUP, ClusterNow(brokers, topics or {}, members or {}, FEATURES), RestoreWish(**wish))


def actions(plan: RestorePlan) -> dict[str, str]:
    return {each.name: each.action for each in plan.topics}


def test_into_an_empty_cluster_all_of_it() -> None:
    plan = planned()
    assert actions(plan) == {"orders": "create", "bills": "create"}
    assert plan.groups == (GROUP,) and plan.settings == BACKUP.settings


def test_some_topics_with_their_groups_and_nothing_of_the_cluster() -> None:
    plan = plan_restore(BACKUP, ClusterNow(3, {}, {}), RestoreWish(topics=frozenset({"bills"})))
    assert actions(plan) == {"bills": "create"} and plan.settings == {}
    assert plan.groups == (GROUP._replace(offsets=GROUP.offsets[1:]),)


def test_feature_levels_go_with_a_whole_backup_where_they_are_known() -> None:
    assert planned().features == {"transaction.version": 1}
    assert planned().left_out == ["metadata.version at level 29"]
    too_low = plan_restore(BACKUP, ClusterNow(3, {}, {}, {"transaction.version": (2, 3)}), RestoreWish())
    assert too_low.features == {} and too_low.left_out[0] == "transaction.version at level 1"
    for part in (
        plan_restore(BACKUP, ClusterNow(3, {}, {}, FEATURES), RestoreWish(topics=frozenset({"bills"}))),
        planned(settings=False),
        planned(prefix="old."),
    ):
        assert (part.features, part.left_out) == ({}, [])


READ, WRITE = (Acl(2, "orders", 3, "User:al", "*", operation, 3) for operation in (3, 4))
SECURED = BACKUP._replace(users=(SavedUser("al", {}), SavedUser("admin", {})), acls=(READ, WRITE))


def test_users_who_are_there_keep_their_passwords_and_rules_that_are_there_are_not_made() -> None:
    cluster = ClusterNow(3, {}, {}, FEATURES, frozenset({"admin"}), frozenset({READ}))
    plan = plan_restore(SECURED, cluster, RestoreWish())
    assert [(each.saved.name, each.action) for each in plan.users] == [("al", "create"), ("admin", "keep")]
    assert [each.name for each in plan.users_to_put] == ["al"] and plan.acls == (WRITE,)
    replaced = plan_restore(SECURED, cluster, RestoreWish(replace=True))
    assert [each.action for each in replaced.users] == ["create", "replace"]


def test_users_and_rules_go_with_a_whole_backup_only() -> None:
    for wish in (RestoreWish(access=False), RestoreWish(topics=frozenset({"bills"})), RestoreWish(prefix="old.")):
        plan = plan_restore(SECURED, ClusterNow(3, {}, {}, FEATURES), wish)
        assert (plan.users, plan.acls) == ((), ())


def test_rules_for_a_cluster_without_rules_are_left_out_and_told() -> None:
    plan = plan_restore(
        SECURED,
        ClusterNow(3, {}, {}, {"transaction.version": (0, 2), "metadata.version": (1, 30)}, acls=None),
        RestoreWish(),
    )
    assert plan.acls == () and plan.left_out == ["2 rules (authorizer.class.name is not set here)"]


def test_under_other_names() -> None:
    plan = planned({"orders": Existing(1, "")}, prefix="old.")
    assert actions(plan) == {"old.orders": "create", "old.bills": "create"}
    assert [each.topic for each in plan.groups[0].offsets] == ["old.orders", "old.bills"]


def test_a_topic_that_exists_is_left_alone_unless_told_otherwise() -> None:
    there = {"orders": Existing(1, "")}
    with pytest.raises(UserError, match="topic orders exists") as refused:
        planned(there)
    assert "--skip-existing" in refused.value.fix and "--replace" in refused.value.fix
    assert actions(planned(there, replace=True)) == {"orders": "replace", "bills": "create"}
    skipped = planned(there, skip_existing=True)
    assert actions(skipped) == {"orders": "skip", "bills": "create"}
    assert [each.topic for each in skipped.groups[0].offsets] == ["bills"], "its groups are left alone too"


def test_a_restore_that_was_interrupted_goes_on() -> None:
    assert actions(planned({"orders": Existing(1, "one")}))["orders"] == "go on"
    with pytest.raises(UserError, match="half restored from backup another"):
        planned({"orders": Existing(1, "another")})
    with pytest.raises(UserError, match="exists"):
        planned({"orders": Existing(2, "one")})


def test_too_few_brokers_and_groups_with_members_are_told_before() -> None:
    with pytest.raises(UserError, match="orders has 3 replicas, and 1 of the cluster's brokers") as refused:
        planned(brokers=1)
    assert "--replication-factor 1" in refused.value.fix
    with pytest.raises(UserError, match="group billing has members"):
        planned(members={"billing": 2})
    assert planned(members={"billing": 2}, groups=False).groups == ()
    with pytest.raises(UserError, match="no topic missing"):
        plan_restore(BACKUP, ClusterNow(3, {}, {}), RestoreWish(topics=frozenset({"missing"})))


def test_with_fewer_copies_it_asks_for_fewer_in_sync() -> None:
    (orders, bills) = planned(brokers=1, replication_factor=1).topics
    assert orders.replication_factor == bills.replication_factor == 1
    assert orders.settings == {"min.insync.replicas": "1", "cleanup.policy": "compact"}


def test_it_is_filled_under_settings_that_the_broker_takes_and_ends_with_its_own() -> None:
    orders = planned().topics[0]
    filling = settings_to_fill_with(orders, "one")
    config = validate_topic_overrides(filling, default_topic_config(BrokerConfig({})))
    assert not config.compacts and config.headrace_restoring == "one" and config.retention_ms == -1
    after = {**filling, **settings_to_end_with(orders)}
    assert {name: value for name, value in after.items() if value is not None} == orders.settings
