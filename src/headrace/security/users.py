"""Users with passwords: what Alter- and DescribeUserScramCredentials ask for, as commits and answers.

    deletions, upsertions ─▶ a verdict for each user ─▶ one commit of all that are taken

A user may be named once in a request, whatever the mechanism: so a verdict is that of one change. With the last credential
of a user go the tokens that act as that user: nobody is left to end them.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from headrace.base.errors import Refused
from headrace.cluster.entities import ScramCredential, User
from headrace.cluster.image import Image
from headrace.cluster.records import encode, token_key, user_key
from headrace.cluster.store import ABSENT, OPERATIONS_MAX, Commit
from headrace.security.credentials import (
    DIGESTS,
    MECHANISM_NUMBERS,
    STORED_ITERATIONS_MAX,
    STORED_ITERATIONS_MIN,
    credential_from,
)
from headrace.wire.codes import ErrorCode

NAME_BYTES_MAX: Final = 255
SALT_BYTES_MAX: Final = 1_024


class Deletion(NamedTuple):
    user: str
    mechanism: int


class Upsertion(NamedTuple):
    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        return f"Upsertion({self.user!r}, {self.mechanism}, ***)"


class Restoration(NamedTuple):
    """A credential as it was kept before: of a backup, which knows no password."""

    user: str
    mechanism: int
    credential: ScramCredential


Alteration = Deletion | Upsertion | Restoration


class Alterations(NamedTuple):
    refusals: Mapping[str, Refused | None]
    """User → why not, None for those that are altered; in the order in which they were named."""
    commits: list[Commit]


def alter_users(image: Image, alterations: Sequence[Alteration]) -> Alterations:
    named = Counter(each.user for each in alterations)
    refusals: dict[str, Refused | None] = {}
    changed: dict[str, User | None] = {}
    for each in alterations:
        try:
            if named[each.user] > 1:
                raise Refused(ErrorCode.DUPLICATE_RESOURCE, f"the request names user {each.user!r} more than once")
            changed[each.user] = _altered(image.users.get(each.user), each)
            refusals[each.user] = None
        except Refused as refusal:
            refusals[each.user] = refusal
    return Alterations(refusals, [*_end_tokens(image, changed), *_commits(image, changed)])


def user_credentials(image: Image, name: str) -> Mapping[str, ScramCredential]:
    user = image.users.get(name)
    if user is None:
        raise Refused(ErrorCode.RESOURCE_NOT_FOUND, f"there is no user {name!r}")
    return user.credentials


def _altered(before: User | None, wanted: Alteration) -> User | None:
    """The user afterwards; None when no credential is left."""
    _check_name(wanted.user)
    mechanism = MECHANISM_NUMBERS.get(wanted.mechanism)
    if mechanism is None:
        offered = ", ".join(f"{number} ({name})" for number, name in MECHANISM_NUMBERS.items())
        raise Refused(ErrorCode.UNSUPPORTED_SASL_MECHANISM, f"mechanism {wanted.mechanism} is not one of {offered}")
    credentials = dict(before.credentials) if before is not None else {}
    if isinstance(wanted, Deletion):
        if mechanism not in credentials:
            raise Refused(ErrorCode.RESOURCE_NOT_FOUND, f"user {wanted.user!r} has no credential for {mechanism}")
        del credentials[mechanism]
    elif isinstance(wanted, Restoration):
        _check_proof(wanted.credential.iterations, wanted.credential.salt)
        _check_keys(mechanism, wanted.credential)
        credentials[mechanism] = wanted.credential
    else:
        _check_proof(wanted.iterations, wanted.salt)
        if not wanted.salted_password:
            raise Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "a salted password is needed")
        credentials[mechanism] = credential_from(mechanism, wanted.salted_password, wanted.salt, wanted.iterations)
    return User(credentials) if credentials else None


def _check_name(name: str) -> None:
    if not name or len(name.encode()) > NAME_BYTES_MAX:
        raise Refused(
            ErrorCode.UNACCEPTABLE_CREDENTIAL, f"a user name has 1 to {NAME_BYTES_MAX} bytes, not {len(name.encode())}"
        )


def _check_proof(iterations: int, salt: bytes) -> None:
    if not STORED_ITERATIONS_MIN <= iterations <= STORED_ITERATIONS_MAX:
        raise Refused(
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            f"iterations must be {STORED_ITERATIONS_MIN} to {STORED_ITERATIONS_MAX}, not {iterations}",
        )
    if not 0 < len(salt) <= SALT_BYTES_MAX:
        raise Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, f"a salt of 1 to {SALT_BYTES_MAX} bytes is needed")


def _check_keys(mechanism: str, credential: ScramCredential) -> None:
    length = hashlib.new(DIGESTS[mechanism]).digest_size
    if {len(credential.stored_key), len(credential.server_key)} != {length}:
        raise Refused(
            ErrorCode.UNACCEPTABLE_CREDENTIAL, f"the keys of a credential for {mechanism} have {length} bytes"
        )


def _commits(image: Image, changed: Mapping[str, User | None]) -> list[Commit]:
    names = list(changed)
    return [
        _commit(image, {name: changed[name] for name in names[first : first + OPERATIONS_MAX]})
        for first in range(0, len(names), OPERATIONS_MAX)
    ]


def _commit(image: Image, changed: Mapping[str, User | None]) -> Commit:
    puts = {user_key(name): None if user is None else encode(user) for name, user in changed.items()}
    return Commit(puts, {user_key(name): _revision(image, name) for name in changed})


def _end_tokens(image: Image, changed: Mapping[str, User | None]) -> Iterable[Commit]:
    gone = {f"User:{name}" for name, user in changed.items() if user is None}
    tokens = [each for each in image.tokens.values() if each.owner in gone]
    for first in range(0, len(tokens), OPERATIONS_MAX):
        some = {token_key(each.id): each.revision for each in tokens[first : first + OPERATIONS_MAX]}
        yield Commit(dict.fromkeys(some), some)


def _revision(image: Image, name: str) -> int:
    before = image.users.get(name)
    return ABSENT if before is None else before.revision


def asked_users(image: Image, names: Iterable[str] | None) -> list[str]:
    """The users that a description is of: those that are named, or all of them when none is."""
    return list(dict.fromkeys(names or ())) or sorted(image.users)
