"""SCRAM credentials on a broker without security: told as switched off, so that tools say so and go on.

There are no credentials to describe, and new ones are refused, since nobody would ever be asked for them.
"""

from collections import Counter

from headrace.broker.net.dispatch import Request
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.scram import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

NO_CREDENTIALS = "there are no credentials on this cluster: it runs without security, and asks nobody for any"


def handle_describe_user_scram_credentials(request: Request) -> DescribeUserScramCredentialsResponse:
    asked = Counter(user.name for user in request.body.users or ())
    return DescribeUserScramCredentialsResponse(0, 0, "", [_described(name, asked[name]) for name in asked])


def _described(name: str, times: int) -> DescribeUserScramCredentialsResult:
    if times > 1:
        return DescribeUserScramCredentialsResult(
            name, ErrorCode.DUPLICATE_RESOURCE, f"the request names user {name!r} more than once"
        )
    return DescribeUserScramCredentialsResult(name, ErrorCode.RESOURCE_NOT_FOUND, NO_CREDENTIALS)


def handle_alter_user_scram_credentials(request: Request) -> AlterUserScramCredentialsResponse:
    body = request.body
    codes = {each.name: ErrorCode.RESOURCE_NOT_FOUND for each in body.deletions}
    codes.update({each.name: ErrorCode.SECURITY_DISABLED for each in body.upsertions})
    asked = Counter((each.name, each.mechanism) for each in (*body.deletions, *body.upsertions))
    codes.update({name: ErrorCode.DUPLICATE_RESOURCE for (name, _), times in asked.items() if times > 1})
    results = [AlterUserScramCredentialsResult(name, code, NO_CREDENTIALS) for name, code in codes.items()]
    return AlterUserScramCredentialsResponse(0, results)
