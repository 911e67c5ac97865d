"""CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken, DescribeDelegationToken."""

from headrace.wire.schema import Request, Response, Struct, array, binary, int16, int32, int64, string


class TokenPrincipal(Struct):
    """A user as these messages name one: its type, and its name."""

    principal_type: str = string()
    principal_name: str = string()


class CreateDelegationTokenRequest(Request, key=38, versions="1-3", flexible=2):
    owner_principal_type: str | None = string(nullable=True, versions="3+")
    owner_principal_name: str | None = string(nullable=True, versions="3+")
    renewers: list[TokenPrincipal] = array(TokenPrincipal)
    max_lifetime_ms: int = int64()


class CreateDelegationTokenResponse(Response, to=CreateDelegationTokenRequest):
    error_code: int = int16()
    principal_type: str = string()
    principal_name: str = string()
    token_requester_principal_type: str = string(versions="3+")
    token_requester_principal_name: str = string(versions="3+")
    issue_timestamp_ms: int = int64()
    expiry_timestamp_ms: int = int64()
    max_timestamp_ms: int = int64()
    token_id: str = string()
    hmac: bytes = binary()
    throttle_time_ms: int = int32()


class RenewDelegationTokenRequest(Request, key=39, versions="1-2", flexible=2):
    hmac: bytes = binary()
    renew_period_ms: int = int64()


class RenewDelegationTokenResponse(Response, to=RenewDelegationTokenRequest):
    error_code: int = int16()
    expiry_timestamp_ms: int = int64()
    throttle_time_ms: int = int32()


class ExpireDelegationTokenRequest(Request, key=40, versions="1-2", flexible=2):
    hmac: bytes = binary()
    expiry_time_period_ms: int = int64()


class ExpireDelegationTokenResponse(Response, to=ExpireDelegationTokenRequest):
    error_code: int = int16()
    expiry_timestamp_ms: int = int64()
    throttle_time_ms: int = int32()


class DescribeDelegationTokenRequest(Request, key=41, versions="1-3", flexible=2):
    owners: list[TokenPrincipal] | None = array(TokenPrincipal, nullable=True)


class DescribedDelegationToken(Struct):
    principal_type: str = string()
    principal_name: str = string()
    token_requester_principal_type: str = string(versions="3+")
    token_requester_principal_name: str = string(versions="3+")
    issue_timestamp: int = int64()
    expiry_timestamp: int = int64()
    max_timestamp: int = int64()
    token_id: str = string()
    hmac: bytes = binary()
    renewers: list[TokenPrincipal] = array(TokenPrincipal)


class DescribeDelegationTokenResponse(Response, to=DescribeDelegationTokenRequest):
    error_code: int = int16()
    tokens: list[DescribedDelegationToken] = array(DescribedDelegationToken)
    throttle_time_ms: int = int32()
