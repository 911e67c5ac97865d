"""The URL of an etcd cluster: its members, and the prefix of our keys there.

    etcd://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]…][/PREFIX]
    etcds://…?ca=FILE[&cert=FILE&key=FILE]        the same over TLS

A password need not stand in the URL, where every process list shows it: HEADRACE_ETCD_PASSWORD is read when there is a
user without one.
"""

import os
import ssl
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from headrace.base.errors import UserError

SCHEMES: Final = ("etcd", "etcds")
DEFAULT_PORT: Final = 2379
DEFAULT_PREFIX: Final = "/headrace"
PASSWORD_VARIABLE: Final = "HEADRACE_ETCD_PASSWORD"
EXAMPLE: Final = "Write it like etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379/headrace"


class Endpoint(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class TlsFiles(NamedTuple):
    ca: str | None = None
    cert: str | None = None
    key: str | None = None


class EtcdUrl(NamedTuple):
    endpoints: tuple[Endpoint, ...]
    prefix: str
    """Begins with a slash and does not end with one."""
    user: str = ""
    password: str = ""
    tls: TlsFiles | None = None

    def __str__(self) -> str:
        """The URL without user and password: it goes into messages and logs."""
        return f"etcd{'s' if self.tls else ''}://{','.join(map(str, self.endpoints))}{self.prefix}"

    def tls_context(self) -> ssl.SSLContext | None:
        if self.tls is None:
            return None
        try:
            context = ssl.create_default_context(cafile=self.tls.ca)
            if self.tls.cert:
                context.load_cert_chain(self.tls.cert, self.tls.key)
        except OSError as error:
            raise UserError(
                f"cannot use the TLS files of {self}: {error}",
                "Check ca=, cert= and key= of the URL: they name PEM files.",
            ) from error
        return context


def parse_etcd_url(text: str, environment: Mapping[str, str] = os.environ) -> EtcdUrl:
    parts = urlsplit(text)
    if parts.scheme not in SCHEMES or not parts.netloc or parts.fragment:
        raise UserError(f"{_shown(text)} is not an etcd URL", EXAMPLE)
    credentials, _, hosts = parts.netloc.rpartition("@")
    user, _, quoted = credentials.partition(":")
    password = unquote(quoted) if quoted or not user else environment.get(PASSWORD_VARIABLE, "")
    return EtcdUrl(
        endpoints=tuple(_endpoint(each, text) for each in hosts.split(",")),
        prefix=_prefix(parts.path),
        user=unquote(user),
        password=password,
        tls=_tls(parts.scheme, parts.query, text),
    )


def _endpoint(text: str, url: str) -> Endpoint:
    """The endpoint in a text; a `//` before it makes it a URL, so that brackets around an IPv6 address are understood."""
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or text.endswith(":") or port == 0:
        raise UserError(f"{_shown(url)}: {text!r} is not HOST:PORT", EXAMPLE)
    return Endpoint(host, port or DEFAULT_PORT)


def _prefix(path: str) -> str:
    trimmed = unquote(path).strip("/")
    if not all(part.isprintable() and part for part in trimmed.split("/")) and trimmed:
        raise UserError(f"the prefix {path!r} is not a path of names", EXAMPLE)
    return f"/{trimmed}" if trimmed else DEFAULT_PREFIX


def _tls(scheme: str, query: str, url: str) -> TlsFiles | None:
    options = dict(parse_qsl(query, keep_blank_values=True))
    if scheme == "etcd":
        if query:
            raise UserError(f"{_shown(url)}: an etcd:// URL takes no options", "For TLS write etcds://…?ca=FILE")
        return None
    unknown = sorted(set(options) - set(TlsFiles._fields))
    if unknown:
        raise UserError(f"{_shown(url)}: unknown option {unknown[0]}", "Known are ca, cert and key, each with a file.")
    if bool(options.get("cert")) != bool(options.get("key")):
        raise UserError(f"{_shown(url)}: cert and key belong together", "Name both files, or neither.")
    return TlsFiles(**options)


def _shown(text: str) -> str:
    """The URL in a message, without what may be a password."""
    scheme, separator, rest = text.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"
