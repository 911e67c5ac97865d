"""Tokens of OAUTHBEARER (RFC 7628): where a client takes one from at each login, and the message that carries it.

    sasl.oauthbearer.token.endpoint.url=file:///run/secrets/kafka-token     read anew at each login
    sasl.oauthbearer.extensions=logicalCluster=lkc-1,identityPoolId=pool-1

With `sasl.oauthbearer.method=oidc` an identity provider is asked instead (`bearer_endpoint`). Other grants than client
credentials are not offered: whoever fetches such tokens writes the newest one into that file.
"""

import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from headrace.base.errors import Refused, UserError
from headrace.wire.codes import ErrorCode

BEARER: Final = "OAUTHBEARER"
TOKEN_URL: Final = "sasl.oauthbearer.token.endpoint.url"
EXTENSIONS: Final = "sasl.oauthbearer.extensions"
# librdkafka asks its callback again when a token is to end; the file tells no time, so that is once in so many seconds.
LIBRDKAFKA_SECONDS: Final = 60.0
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_EXTENSION: Final = re.compile(r"([A-Za-z]+)=([\x20-\x7e]*)")

TokenSource = Callable[[], str]
"""Gives the token of the moment; may take its time, and is called in a thread."""


def token_from(options: Mapping[str, str]) -> TokenSource:
    """The source that the options name; UserError for one that only other clients than Headrace's own understand."""
    if options.get("sasl.oauthbearer.method", "default").lower() == "oidc":
        # Brokers need no HTTP client, and its modules are many.
        from headrace.client.bearer_endpoint import endpoint_from

        return endpoint_from(options).token
    url = options.get(TOKEN_URL, "")
    if not url:
        raise UserError(
            f"{BEARER} needs a token", f"name a file that holds it: {TOKEN_URL}=file:///path; it is read at each login"
        )
    parts = urlsplit(url)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not parts.path:
        raise UserError(
            f"{TOKEN_URL}={url} is no file",
            f"have the token fetched into a file: {TOKEN_URL}=file:///path; or set sasl.oauthbearer.method=oidc",
        )
    return partial(read_token, unquote(parts.path))


def read_token(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except UnicodeDecodeError:
        raise _no_login(f"{path} holds no token: it is not ASCII") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise _no_login(f"the token of {TOKEN_URL} cannot be read: {path}: {reason}") from None


def extensions_from(options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    told = [each for each in options.get(EXTENSIONS, "").split(",") if each]
    found = [_EXTENSION.fullmatch(each) for each in told]
    if None in found or any(each is not None and each[1] == "auth" for each in found):
        raise UserError(f"{EXTENSIONS} is not NAME=VALUE,…", "names are of letters, values have no comma")
    return tuple((each[1], each[2]) for each in found if each is not None)


def bearer_message(token: str, extensions: tuple[tuple[str, str], ...] = ()) -> bytes:
    """The client's first message; Refused for a text that would end, or add to, the message."""
    if not _TOKEN.fullmatch(token):
        raise _no_login("what stands for a token is none: it is empty, or has a character that no token has")
    pairs = [f"auth=Bearer {token}", *(f"{name}={value}" for name, value in extensions)]
    return "".join(f"{each}\x01" for each in ("n,,", *pairs, "")).encode("ascii")


def for_librdkafka(options: Mapping[str, str]) -> dict[str, Any]:
    """The same options with a callback for the token of a file, which librdkafka has no setting for."""
    if not is_token_file(options):
        return dict(options)
    token = token_from(options)
    told: dict[str, Any] = {name: value for name, value in options.items() if name not in (TOKEN_URL, EXTENSIONS)}
    extensions = dict(extensions_from(options))
    return told | {"oauth_cb": lambda _: (token(), time.time() + LIBRDKAFKA_SECONDS, "", extensions)}


def is_token_file(options: Mapping[str, str]) -> bool:
    mechanism = options.get("sasl.mechanism") or options.get("sasl.mechanisms") or ""
    return mechanism.upper() == BEARER and options.get(TOKEN_URL, "").startswith("file:")


def _no_login(cause: str) -> Refused:
    return Refused(ErrorCode.SASL_AUTHENTICATION_FAILED, cause)
