"""Views of rules (ACLs): a line for people, named fields for programs."""

from collections.abc import Sequence
from typing import Any

from headrace.cli.output import show_rows
from headrace.cluster.entities import Acl
from headrace.security.operations import Operation, PatternType, Permission, ResourceType

COLUMNS = {
    "permission": "PERMISSION",
    "principal": "PRINCIPAL",
    "host": "HOST",
    "operation": "OPERATION",
    "resource": "RESOURCE",
    "name": "NAME",
    "pattern": "PATTERN",
}


def rule_view(acl: Acl) -> dict[str, Any]:
    return {
        "permission": _word(Permission, acl.permission),
        "principal": acl.principal,
        "host": acl.host,
        "operation": _word(Operation, acl.operation),
        "resource": _word(ResourceType, acl.resource_type),
        "name": acl.name,
        "pattern": _word(PatternType, acl.pattern_type),
    }


def show_rules(acls: Sequence[Acl], empty: str = "no rules") -> None:
    show_rows([rule_view(acl) for acl in acls], COLUMNS, empty=empty)


def in_words(acl: Acl) -> str:
    view = rule_view(acl)
    name = f"{acl.name}*" if acl.pattern_type == PatternType.PREFIXED else acl.name
    place = "" if acl.host == "*" else f" from {acl.host}"
    return f"{view['permission']} {acl.principal}{place} to {view['operation']} {view['resource']} {name}"


def _word(kind: Any, number: int) -> str:
    """A word for a number; numbers of newer clusters stay numbers."""
    known: dict[int, str] = {int(each): each.name.lower().replace("_", "-") for each in kind}
    return known.get(number, str(number))
