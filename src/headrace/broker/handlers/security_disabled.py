"""ACLs on a broker without an authorizer: told as switched off, so that tools say so and go on.

As by Apache Kafka: requests about ACLs are refused with SECURITY_DISABLED.
"""

from headrace.broker.net.dispatch import Request
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.acls import (
    AclCreationResult,
    CreateAclsResponse,
    DeleteAclsFilterResult,
    DeleteAclsResponse,
    DescribeAclsResponse,
)

NO_ACLS = "there are no ACLs on this cluster: it runs without security, and everybody may do everything"


def handle_describe_acls(request: Request) -> DescribeAclsResponse:
    return DescribeAclsResponse(0, ErrorCode.SECURITY_DISABLED, NO_ACLS)


def handle_create_acls(request: Request) -> CreateAclsResponse:
    return CreateAclsResponse(
        0, [AclCreationResult(ErrorCode.SECURITY_DISABLED, NO_ACLS) for _ in request.body.creations]
    )


def handle_delete_acls(request: Request) -> DeleteAclsResponse:
    return DeleteAclsResponse(
        0, [DeleteAclsFilterResult(ErrorCode.SECURITY_DISABLED, NO_ACLS) for _ in request.body.filters]
    )
