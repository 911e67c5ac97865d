"""Describe- and AlterUserScramCredentials: the users who log in with passwords, and what their passwords are proven by.

Backups ask for the keys themselves. They prove nothing to a broker, but passwords can be guessed by them elsewhere: so they
are told only where rules say who may alter the cluster, to somebody who may and has logged in, and not by a token.
"""

from collections import Counter
from collections.abc import Mapping

from headrace.base.errors import Refused
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.broker.security.authorization import AUTHORIZER
from headrace.broker.security.rights import ANONYMOUS
from headrace.cluster.entities import ScramCredential
from headrace.cluster.image import Image
from headrace.cluster.store import Commit
from headrace.security.credentials import MECHANISM_NUMBERS
from headrace.security.operations import Operation
from headrace.security.users import (
    Alteration,
    Deletion,
    Restoration,
    Upsertion,
    alter_users,
    asked_users,
    user_credentials,
)
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.scram import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
    ScramCredentialUpsertion,
)


def handle_describe_user_scram_credentials(view: View, request: Request) -> DescribeUserScramCredentialsResponse:
    named = None if request.body.users is None else [user.name for user in request.body.users]
    times, with_keys = Counter(named or ()), request.body.with_keys
    try:
        if with_keys:
            _check_asker_for_keys(view, request)
    except Refused as refusal:
        return DescribeUserScramCredentialsResponse(0, refusal.code, refusal.message)
    results = [_described(view.image, name, times[name], with_keys) for name in asked_users(view.image, named)]
    return DescribeUserScramCredentialsResponse(0, 0, "", results)


def _check_asker_for_keys(view: View, request: Request) -> None:
    if not view.config.value(AUTHORIZER):
        raise Refused(
            ErrorCode.SECURITY_DISABLED,
            "without rules (authorizer.class.name) nobody is told what passwords are proven by",
        )
    is_known = request.principal != ANONYMOUS and not request.rights.token_id
    if not is_known or not request.rights.cluster(Operation.ALTER):
        raise Refused(
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            "what passwords are proven by is told to who may alter the cluster, and logged in without a token",
        )


def _described(image: Image, name: str, times: int, with_keys: bool) -> DescribeUserScramCredentialsResult:
    try:
        if times > 1:
            raise Refused(ErrorCode.DUPLICATE_RESOURCE, f"the request names user {name!r} more than once")
        known = user_credentials(image, name)
    except Refused as refusal:
        return DescribeUserScramCredentialsResult(name, refusal.code, refusal.message)
    infos = [
        _info(number, known[mechanism], with_keys)
        for number, mechanism in MECHANISM_NUMBERS.items()
        if mechanism in known
    ]
    return DescribeUserScramCredentialsResult(name, 0, None, infos)


def _info(mechanism: int, credential: ScramCredential, with_keys: bool) -> CredentialInfo:
    salt, stored_key, server_key, iterations = credential
    keys = (salt, stored_key, server_key) if with_keys else ()
    return CredentialInfo(mechanism, iterations, *keys)


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
    return [*deletions, *map(_upsertion, request.body.upsertions)]


def _upsertion(asked: ScramCredentialUpsertion) -> Alteration:
    salt, salted = bytes(asked.salt), bytes(asked.salted_password)
    if not asked.stored_key:
        return Upsertion(asked.name, asked.mechanism, asked.iterations, salt, salted)
    kept = ScramCredential(salt, bytes(asked.stored_key), bytes(asked.server_key), asked.iterations)
    return Restoration(asked.name, asked.mechanism, kept)


def _altered(name: str, refusal: Refused | None) -> AlterUserScramCredentialsResult:
    if refusal is None:
        return AlterUserScramCredentialsResult(name, 0, None)
    return AlterUserScramCredentialsResult(name, refusal.code, refusal.message)
