"""Describe- and AlterUserScramCredentials: the users who log in with passwords, and what their passwords are proven by."""

from collections import Counter
from collections.abc import Mapping

from headrace.base.errors import Refused
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.cluster.image import Image
from headrace.cluster.store import Commit
from headrace.security.credentials import MECHANISM_NUMBERS
from headrace.security.users import Alteration, Deletion, Upsertion, alter_users, asked_users, user_credentials
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.scram import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)


def handle_describe_user_scram_credentials(view: View, request: Request) -> DescribeUserScramCredentialsResponse:
    named = None if request.body.users is None else [user.name for user in request.body.users]
    times = Counter(named or ())
    results = [_described(view.image, name, times[name]) for name in asked_users(view.image, named)]
    return DescribeUserScramCredentialsResponse(0, 0, "", results)


def _described(image: Image, name: str, times: int) -> DescribeUserScramCredentialsResult:
    try:
        if times > 1:
            raise Refused(ErrorCode.DUPLICATE_RESOURCE, f"the request names user {name!r} more than once")
        known = user_credentials(image, name)
    except Refused as refusal:
        return DescribeUserScramCredentialsResult(name, refusal.code, refusal.message)
    infos = [
        CredentialInfo(number, known[mechanism].iterations)
        for number, mechanism in MECHANISM_NUMBERS.items()
        if mechanism in known
    ]
    return DescribeUserScramCredentialsResult(name, 0, None, infos)


async def handle_alter_user_scram_credentials(view: View, request: Request) -> AlterUserScramCredentialsResponse:
    wanted = _alterations(request)
    refusals: Mapping[str, Refused | None] = {}

    def plan(image: Image) -> list[Commit]:
        nonlocal refusals
        refusals, commits = alter_users(image, wanted)
        return commits

    try:
        await view.metadata.change(plan)
    except Refused as refusal:
        refusals = {each.user: refusal for each in wanted}
    return AlterUserScramCredentialsResponse(0, [_altered(*each) for each in refusals.items()])


def _alterations(request: Request) -> list[Alteration]:
    deletions = [Deletion(each.name, each.mechanism) for each in request.body.deletions]
    upsertions = [
        Upsertion(each.name, each.mechanism, each.iterations, bytes(each.salt), bytes(each.salted_password))
        for each in request.body.upsertions
    ]
    return [*deletions, *upsertions]


def _altered(name: str, refusal: Refused | None) -> AlterUserScramCredentialsResult:
    if refusal is None:
        return AlterUserScramCredentialsResult(name, 0, None)
    return AlterUserScramCredentialsResult(name, refusal.code, refusal.message)
