"""The scope of a token: what its caveats leave of its owner's rights.

    {"may": ["read topic orders", "read group spark-*"]}    nothing but this; a name that ends with * stands for all
                                                            that begin so
    {"until": 1763594400000}                                not from then on (ms since 1970)
    {"from": ["10.0.0.0/8"]}                                not from other addresses

Every caveat must allow: a further one takes away, and never gives. A caveat that is not understood refuses everything.
"""

from collections.abc import Iterable, Mapping
from ipaddress import ip_network
from typing import Any, Final, NamedTuple

from headrace.security.acl import Network, address_of
from headrace.security.operations import OPERATIONS_OF, THE_CLUSTER, Operation, ResourceType

GRANTS_MAX: Final = 200
NETWORKS_MAX: Final = 100
TIME_MAX: Final = 1 << 53

_IMPLIED: Final[Mapping[Operation, Operation]] = {
    Operation.READ: Operation.DESCRIBE,
    Operation.WRITE: Operation.DESCRIBE,
    Operation.DELETE: Operation.DESCRIBE,
    Operation.ALTER: Operation.DESCRIBE,
    Operation.ALTER_CONFIGS: Operation.DESCRIBE_CONFIGS,
}
_KINDS: Final = {kind.name.lower().replace("_", "-"): kind for kind in OPERATIONS_OF}
_OPERATIONS: Final = {
    operation.name.lower().replace("_", "-"): operation for operation in Operation if operation is not Operation.ANY
}


class BadCaveat(ValueError):
    """A caveat that is none, or that a newer release understands."""


class Names(NamedTuple):
    """One name, or all names that begin with it."""

    beginning: str
    is_prefix: bool

    def cover(self, name: str) -> bool:
        return name.startswith(self.beginning) if self.is_prefix else name == self.beginning

    def both(self, other: "Names") -> "Names | None":
        """The names that both of them cover."""
        if self.is_prefix and other.beginning.startswith(self.beginning):
            return other
        return self if other.cover(self.beginning) and (other.is_prefix or not self.is_prefix) else None


class Grant(NamedTuple):
    """Operations on the resources of one type that names cover."""

    operations: frozenset[Operation]
    kind: ResourceType
    names: Names

    def covers(self, operation: Operation, kind: ResourceType, name: str) -> bool:
        return operation in self.operations and kind == self.kind and self.names.cover(name)


Grants = tuple[Grant, ...]


class Scope(NamedTuple):
    grants: tuple[Grants, ...] = ()
    """The grants of each caveat that has some: one of each must cover what is asked."""
    until_ms: int | None = None
    networks: tuple[tuple[Network, ...], ...] = ()

    def may(self, operation: Operation, kind: ResourceType, name: str) -> bool:
        return all(any(grant.covers(operation, kind, name) for grant in grants) for grants in self.grants)

    def names(self, operation: Operation, kind: ResourceType) -> frozenset[Names] | None:
        """The names of which all caveats allow an operation; None for all there can be."""
        left: frozenset[Names] | None = None
        for grants in self.grants:
            these = {each.names for each in grants if operation in each.operations and kind == each.kind}
            left = frozenset(these) if left is None else _both(left, these)
        return left

    def is_from(self, host: str) -> bool:
        if not self.networks:
            return True
        address = address_of(host)
        return address is not None and all(
            any(address in network for network in networks) for networks in self.networks
        )


def _both(some: Iterable[Names], others: Iterable[Names]) -> frozenset[Names]:
    found = (one.both(other) for one in some for other in others)
    return frozenset(each for each in found if each is not None)


def scope_of(caveats: Iterable[Mapping[str, Any]]) -> Scope:
    """Raises BadCaveat for one that cannot be held to."""
    scope = Scope()
    for caveat in caveats:
        scope = _narrowed(scope, caveat)
    return scope


def _narrowed(scope: Scope, caveat: Mapping[str, Any]) -> Scope:
    match caveat:
        case {"may": list(texts), **rest} if not rest:
            return scope._replace(grants=(*scope.grants, _grants(texts)))
        case {"until": int(until), **rest} if not rest and not isinstance(until, bool) and 0 <= until <= TIME_MAX:
            earlier = until if scope.until_ms is None else min(until, scope.until_ms)
            return scope._replace(until_ms=earlier)
        case {"from": list(texts), **rest} if not rest:
            return scope._replace(networks=(*scope.networks, _networks(texts)))
    raise BadCaveat(f"a caveat that is not known here: {_shown(caveat)}")


def _grants(texts: list[Any]) -> Grants:
    if len(texts) > GRANTS_MAX:
        raise BadCaveat(f"a caveat has {len(texts)} grants; {GRANTS_MAX} are allowed")
    return tuple(map(parse_grant, texts))


def parse_grant(text: object) -> Grant:
    """The grant in `OPERATION TYPE NAME`, as `read topic orders` or `describe cluster`."""
    if not isinstance(text, str):
        raise BadCaveat(f"no grant: {_shown(text)}")
    said, _, rest = text.partition(" ")
    of_kind, _, name = rest.partition(" ")
    operation, kind = _OPERATIONS.get(said), _KINDS.get(of_kind)
    if operation is None or kind is None:
        raise BadCaveat(f"no grant: {_shown(text)}; write OPERATION TYPE NAME, for example: read topic orders")
    if kind == ResourceType.CLUSTER:
        name = name or THE_CLUSTER
    if not name:
        raise BadCaveat(f"a grant without a name: {_shown(text)}")
    return Grant(_operations(operation, kind), kind, parse_names(name))


def _operations(said: Operation, kind: ResourceType) -> frozenset[Operation]:
    offered = OPERATIONS_OF[kind]
    if said is Operation.ALL:
        return frozenset(offered)
    if said not in offered:
        raise BadCaveat(f"there is no operation {said.name.lower()} on a {kind.name.lower()}")
    implied = _IMPLIED.get(said)
    return frozenset((said, implied)) if implied in offered else frozenset((said,))


def parse_names(text: str) -> Names:
    return Names(text.removesuffix("*"), text.endswith("*"))


def _networks(texts: list[Any]) -> tuple[Network, ...]:
    if len(texts) > NETWORKS_MAX:
        raise BadCaveat(f"a caveat has {len(texts)} networks; {NETWORKS_MAX} are allowed")
    return tuple(map(parse_network, texts))


def parse_network(text: object) -> Network:
    if not isinstance(text, str):
        raise BadCaveat(f"no address and no CIDR block: {_shown(text)}")
    try:
        return ip_network(text)
    except ValueError as error:
        raise BadCaveat(f"no address and no CIDR block: {error}") from None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}…"
