"""Rules (ACLs) of a cluster, ours or Apache Kafka's: listed, made, struck off, and asked what they decide."""

from collections.abc import Iterable, Sequence

from headrace.admin.admin import BROKER, Admin, Resource, check
from headrace.admin.configs import describe_configs
from headrace.cluster.entities import Acl
from headrace.security.acl import AclFilter
from headrace.security.authorizer import Authorizer
from headrace.wire.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)


async def list_acls(admin: Admin, asked: AclFilter) -> list[Acl]:
    described = await admin.ask(DescribeAclsRequest(*asked), DescribeAclsResponse)
    check(described.error_code, described.error_message)
    return sorted(
        Acl(
            resource.resource_type,
            resource.resource_name,
            resource.pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        )
        for resource in described.resources
        for acl in resource.acls
    )


async def find_acls(admin: Admin, filters: Iterable[AclFilter]) -> list[Acl]:
    """The rules that any of the filters finds, each once."""
    return sorted({acl for asked in filters for acl in await list_acls(admin, asked)})


async def create_acls(admin: Admin, acls: Iterable[Acl]) -> None:
    """Raises the first refusal; rules before it may have been made, and may be made again."""
    made = await admin.ask(CreateAclsRequest([AclCreation(*acl[:-1]) for acl in acls]), CreateAclsResponse)
    for result in made.results:
        check(result.error_code, result.error_message)


async def delete_acls(admin: Admin, acls: Sequence[Acl]) -> int:
    """Strikes off exactly these; how many of them were still there."""
    request = DeleteAclsRequest([DeleteAclsFilter(*acl[:-1]) for acl in acls])
    deleted = await admin.ask(request, DeleteAclsResponse)
    for result in deleted.filter_results:
        check(result.error_code, result.error_message)
    return sum(len(result.matching_acls) for result in deleted.filter_results)


async def authorizer_of(admin: Admin) -> Authorizer:
    """The authorizer that a broker of the cluster has, made of what it tells: its rules and its two settings."""
    rules = await list_acls(admin, AclFilter())
    controller = (await admin.describe_cluster()).controller_id
    found = {each.name: each.value for each in await describe_configs(admin, Resource(BROKER, str(controller)))}
    super_users = (found.get("super.users") or "").split(";")
    allows_where_no_rule = found.get("allow.everyone.if.no.acl.found") == "true"
    return Authorizer(rules, {each.strip() for each in super_users if each.strip()}, allows_where_no_rule)
