"""The authorizer: an immutable index over all rules, which says what a principal, from a host, may do.

    super user?  →  a rule denies?  →  a rule allows, or implies it?  →  no rule at all on the resource, and that is
    enough (`allow.everyone.if.no.acl.found`)?  →  no

A decision looks at the rules of the asking principal (and of `User:*`) on the name itself, on `*` and on beginnings of the
name: never at all rules.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeVar

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


class _Place(NamedTuple):
    """A pattern: its type of resource, its type and its name."""

    kind: int
    type: int
    name: str


_Rules = dict[tuple[object, ...], _Rule]


class Authorizer:
    """The rules of one moment, ready to be asked. Never changed: `changed` makes another, which shares what is as before."""

    def __init__(
        self, acls: Iterable[Acl], super_users: Collection[str] = (), allows_where_no_rule: bool = False
    ) -> None:
        self._super_users = frozenset(super_users)
        self._allows_where_no_rule = allows_where_no_rule
        self._rules: dict[tuple[_Place, str], _Rules] = {}
        """Rules by place and principal."""
        self._counts: dict[_Place, int] = {}
        """Numbers of rules, of whatever principal."""
        self._of_principal: dict[tuple[int, str], _Rules] = {}
        self._lengths: dict[int, list[int]] = {}
        """Lengths of the prefixes for a type of resource."""
        self._change((), acls)

    def changed(self, gone: Iterable[Acl], new: Iterable[Acl]) -> "Authorizer":
        other = Authorizer((), self._super_users, self._allows_where_no_rule)
        other._rules, other._counts = dict(self._rules), dict(self._counts)
        other._of_principal, other._lengths = dict(self._of_principal), dict(self._lengths)
        other._change(gone, new)
        return other

    def _change(self, gone: Iterable[Acl], new: Iterable[Acl]) -> None:
        copied: set[int] = set()
        touched: set[int] = set()
        for acl, rule in (*((acl, None) for acl in gone), *((acl, _Rule(acl)) for acl in new)):
            place = _place(acl)
            _put(self._rules, (place, acl.principal), acl, rule, copied)
            _put(self._of_principal, (place.kind, acl.principal), acl, rule, copied)
            self._counts[place] = self._counts.get(place, 0) + (1 if rule else -1)
            if not self._counts[place]:
                del self._counts[place]
            if place.type == PatternType.PREFIXED:
                touched.add(place.kind)
        for kind in touched:
            prefixes = (place for place in self._counts if place[:2] == (kind, PatternType.PREFIXED))
            self._lengths[kind] = sorted({len(prefix.name) for prefix in prefixes})

    def is_super(self, principal: str) -> bool:
        return principal in self._super_users

    def decide(self, principal: str, host: str, operation: int, kind: int, name: str) -> Judgement:
        if principal in self._super_users:
            return Judgement(True, None, f"{principal} is a super user")
        has_rules, rules = self._rules_on(principal, kind, name)
        return self._judged(has_rules, rules, operation, address_of(host))

    def _rules_on(self, principal: str, kind: int, name: str) -> tuple[bool, list[_Rule]]:
        """Whether any rule covers the resource, and those of them that speak of the principal."""
        covering = [place for place in self._places(kind, name) if place in self._counts]
        both = {principal: None, ANYBODY: None}
        return bool(covering), [
            rule for place in covering for one in both for rule in self._rules.get((place, one), _NO_RULES).values()
        ]

    def _places(self, kind: int, name: str) -> Iterator[_Place]:
        """The patterns that cover a name, if there are rules for them."""
        yield _Place(kind, PatternType.LITERAL, name)
        if name != EVERYTHING:
            yield _Place(kind, PatternType.LITERAL, EVERYTHING)
        for length in self._lengths.get(kind, ()):
            if length > len(name):
                return
            yield _Place(kind, PatternType.PREFIXED, name[:length])

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
        both = {principal: None, ANYBODY: None}
        own = [rule for one in both for rule in self._of_principal.get((kind, one), _NO_RULES).values()]
        denied = [rule.acl for rule in own if rule.denies(operation, address)]
        every = _Place(kind, PatternType.LITERAL, EVERYTHING)
        if every in map(_place, denied):
            return False
        if self._allows_where_no_rule and every not in self._counts:
            return True
        allowed = {_place(rule.acl) for rule in own if rule.allows(operations, address)}
        names = {acl.name for acl in denied if acl.pattern_type != PatternType.PREFIXED}
        beginnings = tuple(acl.name for acl in denied if acl.pattern_type == PatternType.PREFIXED)
        return any(not _is_dominated(pattern, names, beginnings) for pattern in allowed)


_NO_RULES: Final[_Rules] = {}


def _place(acl: Acl) -> _Place:
    return _Place(acl.resource_type, acl.pattern_type, acl.name)


K = TypeVar("K")


def _put(index: dict[K, _Rules], key: K, acl: Acl, rule: _Rule | None, copied: set[int]) -> None:
    """Adds a rule, or with None takes it out. What is shared with another authorizer is copied first, and once."""
    known = index.get(key, _NO_RULES)
    if id(known) not in copied:
        known = index[key] = dict(known)
        copied.add(id(known))
    if rule is not None:
        known[acl[:-1]] = rule
    else:
        known.pop(acl[:-1], None)
        if not known:
            del index[key]


def _is_dominated(pattern: _Place, denied: Collection[str], denied_beginnings: tuple[str, ...]) -> bool:
    if pattern.type == PatternType.PREFIXED:
        return pattern.name.startswith(denied_beginnings)
    if pattern.name == EVERYTHING:
        return False
    return pattern.name in denied or pattern.name.startswith(denied_beginnings)


def _allowing(operation: int) -> tuple[int, ...]:
    """The operations whose permission is enough for this one."""
    return (operation, Operation.ALL, *_IMPLYING.get(operation, ()))
