"""The rights of one connection: what its principal, from its address, may do.

A request asks its rights before it looks at whether something exists. Where nobody's rights are limited, and for super
users, `is_unlimited` is true, and nothing else need be asked.
"""

from typing import Final

from headrace.security.operations import THE_CLUSTER, Operation, ResourceType, bits

# An answer about a longer name is not remembered: no topic has one, and whoever asks must not choose what we keep.
REMEMBERED_NAME_MAX: Final = 300
ANONYMOUS: Final = "User:ANONYMOUS"
"""The principal of a connection that nobody has logged in on."""


class Rights:
    """Every right: those of everybody on a cluster without ACLs, and of super users."""

    __slots__ = ()

    is_unlimited = True

    token_id = ""
    """The delegation token that a session logged in by, if it did."""

    fingerprints: tuple[str, ...] = ()
    """The fingerprints of the narrowed token, and of what it was narrowed from."""

    def may(self, operation: Operation, kind: ResourceType, name: str) -> bool:
        return True

    def may_on_any(self, operation: Operation, kind: ResourceType) -> bool:
        """Whether there may be a resource of this kind on which the operation is allowed."""
        return True

    def topic(self, operation: Operation, name: str) -> bool:
        return self.may(operation, ResourceType.TOPIC, name)

    def group(self, operation: Operation, name: str) -> bool:
        return self.may(operation, ResourceType.GROUP, name)

    def transactional_id(self, operation: Operation, name: str) -> bool:
        return self.may(operation, ResourceType.TRANSACTIONAL_ID, name)

    def cluster(self, operation: Operation) -> bool:
        return self.may(operation, ResourceType.CLUSTER, THE_CLUSTER)

    def operations(self, kind: ResourceType, name: str) -> int:
        """The bit field `authorized_operations` of replies."""
        return bits(kind)


EVERY_RIGHT: Final = Rights()


def every_right(principal: str, host: str) -> Rights:
    """The rights of anybody on a cluster without ACLs."""
    return EVERY_RIGHT
