"""DescribeAcls, CreateAcls, DeleteAcls: rules, as Kafka's tools ask for them. Changes are commits like any other.

On a broker without an authorizer they are refused as Kafka refuses them, so that tools say so and go on.
"""

from collections.abc import Callable, Iterable
from typing import Final

from headrace.base.errors import Refused
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.broker.security.authorization import AUTHORIZER, KAFKAS_AUTHORIZER
from headrace.cluster.acl_changes import create_acls, delete_acls
from headrace.cluster.entities import Acl
from headrace.cluster.image import Image
from headrace.cluster.records import acl_key
from headrace.cluster.store import Commit
from headrace.security.acl import AclFilter, check_acl, check_filter
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.acls import (
    AclCreation,
    AclCreationResult,
    AclDescription,
    CreateAclsResponse,
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)

# Rules that one request makes or strikes off.
CHANGES_MAX: Final = 10_000
NO_ACLS: Final = (
    "there are no ACLs on this cluster: it runs without an authorizer, and everybody may do everything; "
    f"start its brokers with {AUTHORIZER}={KAFKAS_AUTHORIZER}"
)


def handle_describe_acls(view: View, request: Request) -> DescribeAclsResponse:
    try:
        _check_is_on(view)
        asked = _filter(request.body)
    except Refused as refusal:
        return DescribeAclsResponse(0, refusal.code, refusal.message)
    resources: dict[tuple[int, str, int], DescribeAclsResource] = {}
    for acl in filter(asked.finds, view.image.acls.values()):
        key = acl.resource_type, acl.name, acl.pattern_type
        described = AclDescription(acl.principal, acl.host, acl.operation, acl.permission)
        resources.setdefault(key, DescribeAclsResource(*key)).acls.append(described)
    return DescribeAclsResponse(resources=list(resources.values()))


async def handle_create_acls(view: View, request: Request) -> CreateAclsResponse:
    wanted = [_acl(each) for each in request.body.creations]
    refusals = [_refusal(view, acl) for acl in wanted]
    fresh = {acl_key(acl): acl for acl, refusal in zip(wanted, refusals, strict=True) if refusal is None}
    failed = await _changed(view, len(fresh), lambda image: create_acls(image, fresh.values()))
    results = [refusal or failed for refusal in refusals]
    return CreateAclsResponse(0, [AclCreationResult(*_code_and_message(each)) for each in results])


def _refusal(view: View, acl: Acl) -> Refused | None:
    try:
        _check_is_on(view)
        check_acl(acl)
    except Refused as refusal:
        return refusal
    return None


async def handle_delete_acls(view: View, request: Request) -> DeleteAclsResponse:
    found = [_found(view, each) for each in request.body.filters]
    gone = {acl_key(acl): acl for each in found if not isinstance(each, Refused) for acl in each}
    failed = await _changed(view, len(gone), lambda image: delete_acls(image, gone.values()))
    results = [_deleted(failed or each) for each in found]
    return DeleteAclsResponse(0, results)


def _found(view: View, asked: DeleteAclsFilter) -> Refused | list[Acl]:
    try:
        _check_is_on(view)
        wanted = _filter(asked)
    except Refused as refusal:
        return refusal
    return [acl for acl in view.image.acls.values() if wanted.finds(acl)]


def _deleted(outcome: Refused | Iterable[Acl]) -> DeleteAclsFilterResult:
    if isinstance(outcome, Refused):
        return DeleteAclsFilterResult(outcome.code, outcome.message)
    return DeleteAclsFilterResult(0, None, [DeleteAclsMatchingAcl(0, None, *acl[:-1]) for acl in outcome])


async def _changed(view: View, count: int, plan: Callable[[Image], list[Commit]]) -> Refused | None:
    """The refusal of the whole change, if it failed; nothing is asked of the store where nothing changes."""
    if count > CHANGES_MAX:
        return Refused(
            ErrorCode.POLICY_VIOLATION, f"{count} rules at once; {CHANGES_MAX} are allowed: ask several times"
        )
    if count:
        try:
            await view.metadata.change(plan)
        except Refused as refusal:
            return refusal
    return None


def _check_is_on(view: View) -> None:
    if not view.config.string(AUTHORIZER):
        raise Refused(ErrorCode.SECURITY_DISABLED, NO_ACLS)


def _filter(asked: DescribeAclsRequest | DeleteAclsFilter) -> AclFilter:
    wanted = AclFilter(
        asked.resource_type_filter,
        asked.resource_name_filter,
        asked.pattern_type_filter,
        asked.principal_filter,
        asked.host_filter,
        asked.operation,
        asked.permission_type,
    )
    check_filter(wanted)
    return wanted


def _acl(wanted: AclCreation) -> Acl:
    return Acl(
        wanted.resource_type,
        wanted.resource_name,
        wanted.resource_pattern_type,
        wanted.principal,
        wanted.host,
        wanted.operation,
        wanted.permission_type,
    )


def _code_and_message(refusal: Refused | None) -> tuple[int, str | None]:
    return (0, None) if refusal is None else (refusal.code, refusal.message)
