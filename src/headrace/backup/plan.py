"""Plans of a restore, and what forbids it, calculated from the backup and a look at the cluster."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from headrace.backup.manifest import Backup, SavedGroup, SavedTopic, SavedUser
from headrace.backup.moment import RESTORING
from headrace.base.errors import UserError
from headrace.base.settings import INT_MAX, LONG_MAX
from headrace.cluster.entities import Acl

Action = Literal["create", "replace", "go on", "skip"]
UserAction = Literal["create", "replace", "keep"]

# While a topic is filled: nothing is deleted for its age, cleaned, packed anew or stamped, whatever its own settings say.
WHILE_RESTORING: Final[Mapping[str, str]] = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "max.message.bytes": str(INT_MAX),
    "message.timestamp.after.max.ms": str(LONG_MAX),
    "message.timestamp.before.max.ms": str(LONG_MAX),
    "message.timestamp.type": "CreateTime",
    "retention.bytes": "-1",
    "retention.ms": "-1",
}


class RestoreWish(NamedTuple):
    """The restore that was asked for."""

    topics: frozenset[str] = frozenset()
    """All, if none is named."""
    prefix: str = ""
    """Before the name of every restored topic."""
    replication_factor: int | None = None
    replace: bool = False
    skip_existing: bool = False
    groups: bool = True
    settings: bool = True
    access: bool = True
    """Whether users and rules are restored, if all topics are."""


class Existing(NamedTuple):
    """A topic of the cluster."""

    partitions: int
    restoring: str
    """The backup that it is being filled from."""


class ClusterNow(NamedTuple):
    brokers: int
    topics: Mapping[str, Existing]
    members: Mapping[str, int]
    """The number of members, of groups that have some."""
    features: Mapping[str, tuple[int, int]] = MappingProxyType({})
    """The lowest and the highest level that its brokers know."""
    users: frozenset[str] = frozenset()
    acls: frozenset[Acl] | None = frozenset()
    """None where there are no rules at all."""


class TopicPlan(NamedTuple):
    name: str
    """In the cluster."""
    action: Action
    replication_factor: int
    saved: SavedTopic

    @property
    def settings(self) -> dict[str, str]:
        """Settings in the end. A topic of fewer copies than it had cannot ask for more in-sync ones than it has."""
        settings = dict(self.saved.settings)
        in_sync = "min.insync.replicas"
        if in_sync in settings and int(settings[in_sync]) > self.replication_factor:
            settings[in_sync] = str(self.replication_factor)
        return settings


class UserPlan(NamedTuple):
    action: UserAction
    saved: SavedUser


class RestorePlan(NamedTuple):
    backup: Backup
    topics: tuple[TopicPlan, ...]
    groups: tuple[SavedGroup, ...]
    """With the names of topics in the cluster."""
    settings: Mapping[str, str]
    features: Mapping[str, int] = MappingProxyType({})
    """The features that the cluster knows, at these levels."""
    is_whole: bool = True
    """With what belongs to the cluster, not to a topic."""
    users: tuple[UserPlan, ...] = ()
    acls: tuple[Acl, ...] = ()
    """The rules that the cluster does not have."""
    acls_left_out: int = 0
    """Rules for a cluster that has none at all."""

    @property
    def left_out(self) -> list[str]:
        """Parts of a whole backup that this cluster cannot have, in words."""
        features = [f"{name} at level {level}" for name, level in self._wanted.items() if name not in self.features]
        rules = f"{self.acls_left_out} rules (authorizer.class.name is not set here)"
        return [*features, rules] if self.acls_left_out else features

    @property
    def users_to_put(self) -> list[SavedUser]:
        return [each.saved for each in self.users if each.action != "keep"]

    @property
    def _wanted(self) -> Mapping[str, int]:
        return self.backup.features if self.is_whole else {}

    @property
    def to_fill(self) -> list[TopicPlan]:
        return [each for each in self.topics if each.action != "skip"]

    @property
    def bytes(self) -> int:
        return sum(each.saved.bytes for each in self.to_fill)


def plan_restore(backup: Backup, cluster: ClusterNow, wish: RestoreWish) -> RestorePlan:
    chosen = _chosen(backup, wish)
    topics = tuple(_plan_topic(backup.id, each, cluster, wish) for each in chosen)
    names = {each.saved.name: each.name for each in topics if each.action != "skip"}
    groups = tuple(_renamed(backup.groups, names)) if wish.groups else ()
    _refuse_members(groups, cluster.members)
    # Settings of the whole cluster belong to a restore of the whole backup.
    is_whole = wish.settings and not wish.topics and not wish.prefix
    features = {name: level for name, level in backup.features.items() if _is_known(cluster, name, level)}
    plan = RestorePlan(
        backup, topics, groups, backup.settings if is_whole else {}, features if is_whole else {}, is_whole
    )
    with_access = wish.access and not wish.topics and not wish.prefix
    return _with_access(plan, cluster, wish) if with_access else plan


def _with_access(plan: RestorePlan, cluster: ClusterNow, wish: RestoreWish) -> RestorePlan:
    """A user who is there keeps the password unless told otherwise: it may be that of the administrator who restores."""
    backup = plan.backup
    there: UserAction = "replace" if wish.replace else "keep"
    users = tuple(UserPlan(there if each.name in cluster.users else "create", each) for each in backup.users)
    if cluster.acls is None:
        return plan._replace(users=users, acls_left_out=len(backup.acls))
    return plan._replace(users=users, acls=tuple(each for each in backup.acls if each not in cluster.acls))


def _is_known(cluster: ClusterNow, name: str, level: int) -> bool:
    lowest, highest = cluster.features.get(name, (1, 0))
    return lowest <= level <= highest


def _chosen(backup: Backup, wish: RestoreWish) -> list[SavedTopic]:
    there = {topic.name for topic in backup.topics}
    for name in sorted(wish.topics - there):
        raise UserError(f"backup {backup.id} has no topic {name}", f"it has {', '.join(sorted(there)) or 'none'}")
    return [topic for topic in backup.topics if not wish.topics or topic.name in wish.topics]


def _plan_topic(backup_id: str, saved: SavedTopic, cluster: ClusterNow, wish: RestoreWish) -> TopicPlan:
    name = f"{wish.prefix}{saved.name}"
    copies = wish.replication_factor or saved.replication_factor
    action = _action(backup_id, name, saved, cluster.topics.get(name), wish)
    if action != "skip" and copies > cluster.brokers:
        raise UserError(
            f"{name} has {copies} replicas, and {cluster.brokers} of the cluster's brokers are alive",
            f"start more, or give --replication-factor {cluster.brokers}",
        )
    return TopicPlan(name, action, copies, saved)


def _action(backup_id: str, name: str, saved: SavedTopic, existing: Existing | None, wish: RestoreWish) -> Action:
    if existing is None:
        return "create"
    if wish.replace:
        return "replace"
    if existing.restoring == backup_id and existing.partitions == len(saved.partitions):
        return "go on"
    if wish.skip_existing:
        return "skip"
    half = f", half restored from backup {existing.restoring}" if existing.restoring else ""
    raise UserError(
        f"topic {name} exists{half}",
        "--skip-existing leaves it as it is, --replace deletes it first, --prefix gives the restored ones other names",
    )


def _renamed(groups: Collection[SavedGroup], names: Mapping[str, str]) -> list[SavedGroup]:
    renamed = [
        group._replace(
            offsets=tuple(each._replace(topic=names[each.topic]) for each in group.offsets if each.topic in names)
        )
        for group in groups
    ]
    return [group for group in renamed if group.offsets]


def _refuse_members(groups: Collection[SavedGroup], members: Mapping[str, int]) -> None:
    busy = [group.name for group in groups if members.get(group.name)]
    if busy:
        raise UserError(
            f"group {busy[0]} has members, and so its offsets cannot be set",
            "stop them first (`headrace group members` shows who), or leave all groups alone with --no-groups",
        )


def settings_to_fill_with(topic: TopicPlan, backup_id: str) -> dict[str, str]:
    return {**topic.settings, **WHILE_RESTORING, RESTORING: backup_id}


def settings_to_end_with(topic: TopicPlan) -> dict[str, str | None]:
    """Changes of the settings that the topic was filled with; None goes back to the brokers' default."""
    filled = settings_to_fill_with(topic, "")
    return {name: topic.settings.get(name) for name in filled}
