"""The user that the gateway of `headrace up --secure` is for what no caller asks for: its name and its rules.

It keeps the records of webhooks, takes their groups away, and watches the cluster for alerts. It reads no messages of
others, makes no tokens, and nothing that a caller asks for is done by it.
"""

from typing import Final

from headrace.cluster.entities import Acl
from headrace.security.acl import ANYWHERE, EVERYTHING
from headrace.security.operations import THE_CLUSTER, Operation, PatternType, Permission, ResourceType

GATEWAY_USER: Final = "headrace-gateway"
# The topic of `headrace.gateway.webhooks.registry`, which is not loaded without the extra `gateway`.
RECORDS: Final = "_headrace_webhooks"
GROUPS: Final = "webhook."


def gateway_rules() -> list[Acl]:
    return [
        *(_allowed(ResourceType.TOPIC, RECORDS, each) for each in (Operation.READ, Operation.WRITE, Operation.CREATE)),
        _allowed(ResourceType.GROUP, GROUPS, Operation.DELETE, PatternType.PREFIXED),
        _allowed(ResourceType.CLUSTER, THE_CLUSTER, Operation.DESCRIBE),
        _allowed(ResourceType.TOPIC, EVERYTHING, Operation.DESCRIBE),
        _allowed(ResourceType.GROUP, EVERYTHING, Operation.DESCRIBE),
    ]


def _allowed(kind: int, name: str, operation: int, pattern: int = PatternType.LITERAL) -> Acl:
    return Acl(kind, name, pattern, f"User:{GATEWAY_USER}", ANYWHERE, operation, Permission.ALLOW)
