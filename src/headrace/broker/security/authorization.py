"""The rules in force on this broker, and the rights that principals have by them.

    image ─▶ `Authorization.on_acls` ─▶ a new `Authorizer` ─▶ every `RuledRights` forgets what it knew

A connection asks its rights, and they remember every answer until the rules change: the next request of any connection goes
by the new ones. Before the first image nobody may do anything.
"""

import logging
from collections.abc import Mapping
from typing import Final
from weakref import WeakValueDictionary

from headrace.base.errors import UserError
from headrace.broker.security.rights import EVERY_RIGHT, REMEMBERED_NAME_MAX, Rights
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import Acl
from headrace.security.authorizer import Authorizer
from headrace.security.operations import OPERATIONS_OF, Operation, ResourceType

logger = logging.getLogger("headrace.authorizer")

AUTHORIZER: Final = "authorizer.class.name"
KAFKAS_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
# Answers that the rights of one principal from one address remember.
ANSWERS_MAX = 10_000


class RuledRights(Rights):
    """The rights of one principal from one address, by the rules."""

    __slots__ = ("__weakref__", "_any", "_authorizer", "_host", "_known", "_principal")

    is_unlimited = False

    def __init__(self, authorizer: Authorizer, principal: str, host: str) -> None:
        self._principal = principal
        self._host = host
        self.go_by(authorizer)

    def go_by(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._known: dict[tuple[Operation, ResourceType, str], bool] = {}
        self._any: dict[tuple[Operation, ResourceType], bool] = {}

    def may(self, operation: Operation, kind: ResourceType, name: str) -> bool:
        asked = operation, kind, name
        answer = self._known.get(asked)
        if answer is None:
            answer = self._authorizer.decide(self._principal, self._host, *asked).allowed
            if len(name) <= REMEMBERED_NAME_MAX:
                self._remember(asked, answer)
        return answer

    def _remember(self, asked: tuple[Operation, ResourceType, str], answer: bool) -> None:
        if len(self._known) >= ANSWERS_MAX:
            self._known.clear()
        self._known[asked] = answer

    def may_on_any(self, operation: Operation, kind: ResourceType) -> bool:
        asked = operation, kind
        if asked not in self._any:
            self._any[asked] = self._authorizer.decide_any(self._principal, self._host, *asked)
        return self._any[asked]

    def operations(self, kind: ResourceType, name: str) -> int:
        return sum(1 << operation for operation in OPERATIONS_OF[kind] if self.may(operation, kind, name))


class Authorization:
    def __init__(self, super_users: frozenset[str], allows_where_no_rule: bool) -> None:
        self._super_users = super_users
        self._allows_where_no_rule = allows_where_no_rule
        self._acls: Mapping[str, Acl] | None = None
        self._authorizer = Authorizer((), super_users)
        self._rights: WeakValueDictionary[tuple[str, str], RuledRights] = WeakValueDictionary()

    def on_acls(self, acls: Mapping[str, Acl]) -> None:
        """Goes by these rules from here on; by `is`, they are a new mapping whenever one of them changed."""
        if acls is self._acls:
            return
        before, self._acls = self._acls, acls
        if before is None:
            self._authorizer = Authorizer(acls.values(), self._super_users, self._allows_where_no_rule)
        else:
            # Keys are digests of rules: what is under the same key is the same rule.
            gone, new = before.keys() - acls.keys(), acls.keys() - before.keys()
            self._authorizer = self._authorizer.changed(map(before.__getitem__, gone), map(acls.__getitem__, new))
        for rights in list(self._rights.values()):
            rights.go_by(self._authorizer)

    def rights_of(self, principal: str, host: str) -> Rights:
        """The same object for all connections of a principal from an address, as long as there are any."""
        if self._authorizer.is_super(principal):
            return EVERY_RIGHT
        known = self._rights.get((principal, host))
        if known is None:
            known = self._rights[principal, host] = RuledRights(self._authorizer, principal, host)
        return known


def open_authorization(config: BrokerConfig) -> Authorization | None:
    """None on a broker without rules, where everybody may do everything."""
    named = config.string(AUTHORIZER)
    if not named:
        return None
    if named != KAFKAS_AUTHORIZER:
        raise UserError(
            f"{AUTHORIZER}={named} does not exist here",
            f"Set {AUTHORIZER}={KAFKAS_AUTHORIZER}, or leave it out for a broker on which everybody may do everything.",
        )
    listed = (config.string("super.users") or "").split(";")
    super_users = frozenset(each.strip() for each in listed if each.strip())
    for user in super_users:
        if ":" not in user:
            raise UserError(f"super.users names {user}, which is no principal", "Write User:NAME, separated by ;")
    return Authorization(super_users, config.flag("allow.everyone.if.no.acl.found"))


def warn_of_idle_rules(authorization: Authorization | None, acls: Mapping[str, Acl]) -> None:
    """Warns of a broker that lets everybody do everything in a cluster that has rules."""
    if authorization is None and acls:
        logger.warning(
            "the cluster has rules (ACLs), and this broker goes by none of them: whoever reaches it may do everything. Set "
            "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer on every broker, or delete "
            "the rules (headrace acl delete)"
        )
