"""The authorizer: may this principal, from this host, do that? An immutable index over all rules.

    super user?  →  a rule denies?  →  a rule allows, or implies it?  →  no rule at all on the resource, and that is
    enough (`allow.everyone.if.no.acl.found`)?  →  no

A decision looks at the rules of the asking principal (and of `User:*`) on the name itself, on `*` and on beginnings of the
name: never at all rules.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from headrace.base.errors import Refused
from headrace.cluster.entities import Acl
from headrace.security.acl import ANYBODY, EVERYTHING, Address, Network, address_of, parse_host
from headrace.security.operations import Operation, PatternType, Permission

_IMPLYING: Final[Mapping[int, tuple[int, ...]]] = {
    Operation.DESCRIBE: (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER),
    Operation.DESCRIBE_CONFIGS: (Operation.ALTER_CONFIGS,),
}
"""Operations whose permission brings the key's with it. A denial brings nothing with it."""


class Judgement(NamedTuple):
    allowed: bool
    rule: Acl | None
    """The rule that decided, if one did."""
    cause: str


class _Rule:
    """A rule with its host read."""

    __slots__ = ("_hosts", "_is_nowhere", "acl")

    def __init__(self, acl: Acl) -> None:
        self.acl = acl
        self._is_nowhere = False
        self._hosts: Network | None = None
        try:
            self._hosts = parse_host(acl.host)
        except Refused:
            # Another release may have stored it. What is not understood allows nobody and denies everybody.
            self._is_nowhere = acl.permission == Permission.ALLOW

    def denies(self, operation: int, address: Address | None) -> bool:
        own = self.acl.operation
        return self.acl.permission == Permission.DENY and own in (operation, Operation.ALL) and self._is_from(address)

    def allows(self, operations: Collection[int], address: Address | None) -> bool:
        return (
            self.acl.permission == Permission.ALLOW
            and self.acl.operation in operations
            and not self._is_nowhere
            and self._is_from(address)
        )

    def _is_from(self, address: Address | None) -> bool:
        if self._hosts is None:
            return True
        # An address that cannot be read may be the denied one, and is not the allowed one.
        return self.acl.permission == Permission.DENY if address is None else address in self._hosts


class _Patterns:
    """The rules on one type of resource."""

    __slots__ = ("lengths", "literal", "prefixed")

    def __init__(self) -> None:
        self.literal: dict[str, dict[str, list[_Rule]]] = {}
        """Name → principal → rules."""
        self.prefixed: dict[str, dict[str, list[_Rule]]] = {}
        self.lengths: list[int] = []
        """Lengths that prefixes have."""

    def of(self, name: str) -> Iterator[dict[str, list[_Rule]]]:
        """The rules by principal of each pattern that covers a name."""
        for literal in (name, EVERYTHING) if name != EVERYTHING else (name,):
            if literal in self.literal:
                yield self.literal[literal]
        for length in self.lengths:
            if length > len(name):
                return
            if name[:length] in self.prefixed:
                yield self.prefixed[name[:length]]


class Authorizer:
    """The rules of one moment, ready to be asked."""

    def __init__(
        self, acls: Iterable[Acl], super_users: Collection[str] = (), allows_where_no_rule: bool = False
    ) -> None:
        self._super_users = frozenset(super_users)
        self._allows_where_no_rule = allows_where_no_rule
        self._patterns: dict[int, _Patterns] = {}
        self._of_principal: dict[tuple[int, str], list[_Rule]] = {}
        for acl in acls:
            self._add(_Rule(acl))
        for patterns in self._patterns.values():
            patterns.lengths = sorted({len(prefix) for prefix in patterns.prefixed})

    def _add(self, rule: _Rule) -> None:
        acl = rule.acl
        patterns = self._patterns.setdefault(acl.resource_type, _Patterns())
        by_name = patterns.prefixed if acl.pattern_type == PatternType.PREFIXED else patterns.literal
        by_name.setdefault(acl.name, {}).setdefault(acl.principal, []).append(rule)
        self._of_principal.setdefault((acl.resource_type, acl.principal), []).append(rule)

    def is_super(self, principal: str) -> bool:
        return principal in self._super_users

    def decide(self, principal: str, host: str, operation: int, kind: int, name: str) -> Judgement:
        if principal in self._super_users:
            return Judgement(True, None, f"{principal} is a super user")
        has_rules, rules = self._rules_on(principal, kind, name)
        return self._judged(has_rules, rules, operation, address_of(host))

    def _rules_on(self, principal: str, kind: int, name: str) -> tuple[bool, list[_Rule]]:
        """Whether any rule covers the resource, and those of them that speak of the principal."""
        patterns = self._patterns.get(kind)
        covering = [] if patterns is None else list(patterns.of(name))
        principals = {principal: None, ANYBODY: None}
        return bool(covering), [rule for each in covering for one in principals for rule in each.get(one, ())]

    def _judged(self, has_rules: bool, rules: list[_Rule], operation: int, address: Address | None) -> Judgement:
        for rule in rules:
            if rule.denies(operation, address):
                return Judgement(False, rule.acl, "a rule denies it")
        operations = _allowing(operation)
        for rule in rules:
            if rule.allows(operations, address):
                return Judgement(True, rule.acl, "a rule allows it")
        if not has_rules and self._allows_where_no_rule:
            return Judgement(True, None, "no rule covers it, and allow.everyone.if.no.acl.found is true")
        return Judgement(False, None, "no rule allows it")

    def decide_any(self, principal: str, host: str, operation: int, kind: int) -> bool:
        """Whether some resource of the type may be there on which the operation is allowed, whatever it is called.

        An allowed pattern counts unless denied patterns cover all of it. Of a prefix that is not denied, a name that no
        other rule speaks of is always left.
        """
        if principal in self._super_users:
            return True
        address, operations = address_of(host), _allowing(operation)
        own = [rule for one in {principal: None, ANYBODY: None} for rule in self._of_principal.get((kind, one), ())]
        denied = [rule.acl for rule in own if rule.denies(operation, address)]
        if _Pattern(PatternType.LITERAL, EVERYTHING) in map(_pattern, denied):
            return False
        if self._allows_where_no_rule and not self._covers_all(kind):
            return True
        allowed = {_pattern(rule.acl) for rule in own if rule.allows(operations, address)}
        names = {acl.name for acl in denied if acl.pattern_type != PatternType.PREFIXED}
        beginnings = tuple(acl.name for acl in denied if acl.pattern_type == PatternType.PREFIXED)
        return any(not _is_dominated(pattern, names, beginnings) for pattern in allowed)

    def _covers_all(self, kind: int) -> bool:
        return kind in self._patterns and EVERYTHING in self._patterns[kind].literal


class _Pattern(NamedTuple):
    type: int
    name: str


def _pattern(acl: Acl) -> _Pattern:
    return _Pattern(acl.pattern_type, acl.name)


def _is_dominated(pattern: _Pattern, denied: Collection[str], denied_beginnings: tuple[str, ...]) -> bool:
    if pattern.type == PatternType.PREFIXED:
        return pattern.name.startswith(denied_beginnings)
    if pattern.name == EVERYTHING:
        return False
    return pattern.name in denied or pattern.name.startswith(denied_beginnings)


def _allowing(operation: int) -> tuple[int, ...]:
    """The operations whose permission is enough for this one."""
    return (operation, Operation.ALL, *_IMPLYING.get(operation, ()))
