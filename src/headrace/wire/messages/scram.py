"""DescribeUserScramCredentials and AlterUserScramCredentials.

Kafka's have no way to save a user and bring it back: nobody is told what a password is proven by. Backups do it with fields
of our own, tagged, which everybody else leaves out and skips.
"""

from typing import Final

from headrace.wire.schema import Request, Response, Struct, array, binary, boolean, int8, int16, int32, string

# Kafka counts tags from 0, without gaps; beyond 127 they would take two bytes.
_OWN: Final = 100


class UserName(Struct):
    name: str = string()


class DescribeUserScramCredentialsRequest(Request, key=50, versions="0", flexible=0):
    users: list[UserName] | None = array(UserName, nullable=True)
    with_keys: bool = boolean(tag=_OWN)


class CredentialInfo(Struct):
    mechanism: int = int8()
    iterations: int = int32()
    salt: bytes = binary(tag=_OWN)
    stored_key: bytes = binary(tag=_OWN + 1)
    server_key: bytes = binary(tag=_OWN + 2)

    def __repr__(self) -> str:
        return f"CredentialInfo({self.mechanism}, {self.iterations}, ***)"


class DescribeUserScramCredentialsResult(Struct):
    user: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    credential_infos: list[CredentialInfo] = array(CredentialInfo)


class DescribeUserScramCredentialsResponse(Response, to=DescribeUserScramCredentialsRequest):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    results: list[DescribeUserScramCredentialsResult] = array(DescribeUserScramCredentialsResult)


class ScramCredentialDeletion(Struct):
    name: str = string()
    mechanism: int = int8()


class ScramCredentialUpsertion(Struct):
    name: str = string()
    mechanism: int = int8()
    iterations: int = int32()
    salt: bytes = binary()
    salted_password: bytes = binary()
    stored_key: bytes = binary(tag=_OWN)
    server_key: bytes = binary(tag=_OWN + 1)


class AlterUserScramCredentialsRequest(Request, key=51, versions="0", flexible=0):
    deletions: list[ScramCredentialDeletion] = array(ScramCredentialDeletion)
    upsertions: list[ScramCredentialUpsertion] = array(ScramCredentialUpsertion)


class AlterUserScramCredentialsResult(Struct):
    user: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)


class AlterUserScramCredentialsResponse(Response, to=AlterUserScramCredentialsRequest):
    throttle_time_ms: int = int32()
    results: list[AlterUserScramCredentialsResult] = array(AlterUserScramCredentialsResult)
