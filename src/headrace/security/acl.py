"""Rules (ACLs): which are allowed, which one a filter finds, and from which hosts one speaks.

Refusals carry Kafka's codes. Stricter than Kafka in one thing: a host that is neither `*`, nor an address, nor a CIDR block
is refused, since a rule from there would never speak, and a DENY that never does looks like safety.
"""

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, NamedTuple

from headrace.base.errors import Refused
from headrace.cluster.entities import Acl
from headrace.security.operations import THE_CLUSTER, Operation, PatternType, Permission, ResourceType
from headrace.wire.codes import ErrorCode

EVERYTHING: Final = "*"
"""The literal name that means all names of a type."""
ANYBODY: Final = "User:*"
ANYWHERE: Final = "*"
ACL_NAME_LENGTH_MAX: Final = 32_767
# Bits before the IPv4 address in an IPv6 one that stands for it.
MAPPED_PREFIX: Final = 96

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class AclFilter(NamedTuple):
    """A question for rules. None, and ANY, stand for all; MATCH for every pattern that applies to the name."""

    resource_type: int = ResourceType.ANY
    name: str | None = None
    pattern_type: int = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: int = Operation.ANY
    permission: int = Permission.ANY

    def finds(self, acl: Acl) -> bool:
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
            and self._finds_pattern(acl)
        )

    def _finds_pattern(self, acl: Acl) -> bool:
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, acl.pattern_type):
            return False
        if self.name is None:
            return True
        return applies_to(acl, self.name) if self.pattern_type == PatternType.MATCH else self.name == acl.name


def applies_to(acl: Acl, name: str) -> bool:
    """Whether the pattern of a rule covers a name."""
    if acl.pattern_type == PatternType.PREFIXED:
        return name.startswith(acl.name)
    return acl.name in (name, EVERYTHING)


def check_acl(acl: Acl) -> None:
    """Raises Refused for a rule that nobody may make."""
    _require(acl.resource_type in _KINDS, f"there is no resource type {acl.resource_type} to make a rule for")
    _require(acl.pattern_type in _PATTERNS, f"a rule is literal (3) or prefixed (4), not of type {acl.pattern_type}")
    _require(bool(acl.name), "the name of the resource is empty")
    _require(len(acl.name) <= ACL_NAME_LENGTH_MAX, "the name of the resource is too long")
    if acl.resource_type == ResourceType.CLUSTER:
        _require(acl.name in (THE_CLUSTER, EVERYTHING), f"the only name of a cluster is {THE_CLUSTER}")
    _require(acl.operation in _OPERATIONS, f"there is no operation {acl.operation} to make a rule for")
    _require(acl.permission in (Permission.ALLOW, Permission.DENY), "a rule allows (3) or denies (2)")
    _require(":" in acl.principal, f"the principal {acl.principal!r} has no colon: write User:NAME")
    _require(len(acl.principal) <= ACL_NAME_LENGTH_MAX, "the principal is too long")
    parse_host(acl.host)


def check_filter(asked: AclFilter) -> None:
    known = (ResourceType, asked.resource_type), (PatternType, asked.pattern_type)
    for kinds, number in (*known, (Operation, asked.operation), (Permission, asked.permission)):
        _require(number in {int(each) for each in kinds}, f"a filter has an unknown number: {number}")


_KINDS: Final = {int(each) for each in ResourceType if each is not ResourceType.ANY}
_PATTERNS: Final = (int(PatternType.LITERAL), int(PatternType.PREFIXED))
_OPERATIONS: Final = {int(each) for each in Operation if each is not Operation.ANY}


def _require(condition: bool, cause: str) -> None:
    if not condition:
        raise Refused(ErrorCode.INVALID_REQUEST, cause)


def parse_host(text: str) -> Network | None:
    """The addresses that a rule speaks of; None for all."""
    if text == ANYWHERE:
        return None
    try:
        return _network(text)
    except ValueError as error:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"the host of a rule is *, an address or a CIDR block: {error}"
        ) from None


@lru_cache(maxsize=4096)
def _network(text: str) -> Network:
    """A block of IPv4 inside of IPv6 is IPv4, as the addresses of connections are."""
    network = ip_network(text)
    mapped = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
    if mapped is None or network.prefixlen < MAPPED_PREFIX:
        return network
    return IPv4Network((mapped, network.prefixlen - MAPPED_PREFIX))


def address_of(host: str) -> Address | None:
    """The address of a connection; None for one that has none. IPv4 inside of IPv6 is IPv4, and a zone is left out."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
