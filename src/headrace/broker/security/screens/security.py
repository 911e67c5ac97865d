"""Refusals of whole requests about rules, quotas and credentials."""

from headrace.wire.codes import ErrorCode
from headrace.wire.messages.acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from headrace.wire.messages.quotas import DescribeClientQuotasRequest, DescribeClientQuotasResponse
from headrace.wire.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

_DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def no_acls(body: DescribeAclsRequest) -> DescribeAclsResponse:
    return DescribeAclsResponse(0, _DENIED, _DENIED.message)


def no_new_acls(body: CreateAclsRequest) -> CreateAclsResponse:
    return CreateAclsResponse(0, [AclCreationResult(_DENIED, _DENIED.message) for _ in body.creations])


def no_acls_deleted(body: DeleteAclsRequest) -> DeleteAclsResponse:
    return DeleteAclsResponse(0, [DeleteAclsFilterResult(_DENIED, _DENIED.message) for _ in body.filters])


def no_quotas(body: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(0, _DENIED, _DENIED.message, None)


def no_users(body: DescribeUserScramCredentialsRequest) -> DescribeUserScramCredentialsResponse:
    return DescribeUserScramCredentialsResponse(0, _DENIED, _DENIED.message)


def no_users_altered(body: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse:
    names = dict.fromkeys([each.name for each in body.deletions] + [each.name for each in body.upsertions])
    return AlterUserScramCredentialsResponse(
        0, [AlterUserScramCredentialsResult(name, _DENIED, _DENIED.message) for name in names]
    )
