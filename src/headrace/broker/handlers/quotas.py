"""DescribeClientQuotas: truthfully empty, since there are no quotas yet. Kafka's tools ask it beside the users of SCRAM."""

from headrace.broker.net.dispatch import Request
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.quotas import ComponentData, DescribeClientQuotasResponse

EXACT, DEFAULT, ANY = range(3)
ADDRESS = "ip"


def handle_describe_client_quotas(request: Request) -> DescribeClientQuotasResponse:
    cause = _fault(request.body.components)
    if cause:
        return DescribeClientQuotasResponse(0, ErrorCode.INVALID_REQUEST, cause, None)
    return DescribeClientQuotasResponse(entries=[])


def _fault(components: list[ComponentData]) -> str:
    """The cause why no quota could ever be meant; empty if one could."""
    types = [each.entity_type for each in components]
    if "" in types:
        return "an entity has no type"
    if len(set(types)) < len(types):
        return "a type of entity is asked for twice"
    if ADDRESS in types and len(types) > 1:
        return "quotas of addresses are of nothing else"
    for each in components:
        if each.match_type not in (EXACT, DEFAULT, ANY):
            return f"match type {each.match_type} is none: 0 is exact, 1 the default, 2 any"
        if (each.match is not None) != (each.match_type == EXACT):
            return "a name belongs to an exact match, and to no other"
    return ""
