"""Identity and trust of a client: TLS and SASL, from the options that Kafka's clients know.

    security_from({"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512",
                   "sasl.username": "app", "sasl.password": "…", "ssl.ca.location": "ca.pem"})

Both spellings are read: the Java client's (`sasl.jaas.config`, `ssl.truststore.location` as PEM) and librdkafka's
(`sasl.username`, `ssl.ca.location`), PEM in files or in the settings. Java key stores (JKS, PKCS12) and Kerberos are not.
A program may give a callable in place of a token's file or endpoint: `Sasl("OAUTHBEARER", "", "", token)`.
"""

import asyncio
import random
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from headrace.base.errors import Refused, UserError
from headrace.client.bearer import BEARER, TokenSource, bearer_message, extensions_from, token_from
from headrace.client.connection import ClientConnection
from headrace.client.scram import ScramClient, scram_digest
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
# Those that a user name and a password go with.
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_INLINE = (("ssl.key.pem", "ssl.keystore.key"), ("ssl.certificate.pem", "ssl.keystore.certificate.chain"))
# The part of a login's lifetime after which it is renewed: by chance, so that clients do not all come at once.
RENEWED_AFTER: Final = (0.85, 0.95)
_JAAS = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')""")


class Sasl(NamedTuple):
    mechanism: str
    username: str
    password: str
    """With OAUTHBEARER the token, unless `token` gives one."""
    token: TokenSource | None = None
    extensions: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return f"Sasl({self.mechanism!r}, {self.username!r}, ***)"


class Security(NamedTuple):
    tls: ssl.SSLContext | None = None
    sasl: Sasl | None = None


def security_from(options: Mapping[str, str]) -> Security | None:
    """None for plain connections; UserError names the option that is wrong or missing."""
    protocol = options.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise UserError(f"security.protocol={protocol} does not exist", f"use one of {', '.join(PROTOCOLS)}")
    if protocol == "PLAINTEXT":
        return None
    return Security(
        _tls_from(options) if protocol.endswith("SSL") else None,
        _sasl_from(options) if protocol.startswith("SASL") else None,
    )


def _tls_from(options: Mapping[str, str]) -> ssl.SSLContext:
    location = options.get("ssl.ca.location") or pem_store(options, "truststore")
    certificates = options.get("ssl.ca.pem") or options.get("ssl.truststore.certificates")
    try:
        context = ssl.create_default_context(cafile=location, cadata=certificates)
        if options.get("ssl.endpoint.identification.algorithm", "https").lower() in ("", "none"):
            context.check_hostname = False
        if options.get("enable.ssl.certificate.verification", "true").lower() == "false":
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        _load_own_certificate(context, options)
    except (OSError, ssl.SSLError) as error:
        named = ", ".join(sorted(name for name in options if name.startswith("ssl.") and "password" not in name))
        raise UserError(
            f"the TLS options cannot be used: {error}", f"look at the files that these name: {named}"
        ) from error
    return context


def _load_own_certificate(context: ssl.SSLContext, options: Mapping[str, str]) -> None:
    chain = options.get("ssl.certificate.location") or pem_store(options, "keystore")
    password = options.get("ssl.key.password")
    if chain:
        context.load_cert_chain(chain, options.get("ssl.key.location"), password)
        return
    texts = [options.get(ours) or options.get(java, "") for ours, java in _INLINE]
    if any(texts):
        # OpenSSL reads them from a file only; this folder is our user's alone.
        with TemporaryDirectory() as folder:
            path = Path(folder) / "own.pem"
            path.write_text("\n".join(texts))
            context.load_cert_chain(path, None, password)


def pem_store(options: Mapping[str, str], store: str) -> str | None:
    """The PEM file of a Java client's store; UserError for a store in a Java format."""
    location = options.get(f"ssl.{store}.location")
    kind = options.get(f"ssl.{store}.type", "JKS" if location else "PEM").upper()
    if kind != "PEM":
        pem = "ssl.ca.location" if store == "truststore" else "ssl.certificate.location and ssl.key.location"
        raise UserError(f"ssl.{store}.type={kind} is a Java format", f"name PEM files with {pem}")
    return location


def _sasl_from(options: Mapping[str, str]) -> Sasl:
    mechanism = (options.get("sasl.mechanism") or options.get("sasl.mechanisms") or "").upper()
    if mechanism == BEARER:
        return Sasl(mechanism, "", "", token_from(options), extensions_from(options))
    if mechanism not in MECHANISMS:
        offered = ", ".join((*MECHANISMS, BEARER))
        raise UserError(f"sasl.mechanism={mechanism or '(not set)'} is not offered", f"use {offered}")
    jaas = options.get("sasl.jaas.config")
    username, password = jaas_login(jaas) if jaas else (options.get("sasl.username"), options.get("sasl.password"))
    if not username or password is None:
        raise UserError(
            f"{mechanism} needs a user name and a password", "set sasl.username and sasl.password, or sasl.jaas.config"
        )
    return Sasl(mechanism, username, password)


def jaas_login(text: str) -> tuple[str, str]:
    """User and password of a Java client's `sasl.jaas.config`."""
    said = {name: re.sub(r"\\(.)", r"\1", quoted or single) for name, quoted, single in _JAAS.findall(text)}
    if not said.get("username") or "password" not in said:
        raise UserError(
            "sasl.jaas.config names no username and password", "or set sasl.username and sasl.password instead"
        )
    return said["username"], said["password"]


async def authenticate(connection: ClientConnection, sasl: Sasl, seconds_max: float) -> None:
    """Logs in; raises Refused with the broker's own sentence. The login is renewed for as long as the connection lives."""
    shaken = await connection.ask(SaslHandshakeRequest(sasl.mechanism), SaslHandshakeResponse, 1, seconds_max)
    if shaken.error_code:
        offered = ", ".join(shaken.mechanisms) or "none"
        raise Refused(shaken.error_code, f"the broker does not offer {sasl.mechanism}; it offers {offered}")
    who = f"user {sasl.username}: " if sasl.username else ""
    lifetime_ms = 0

    async def send(message: bytes) -> bytes:
        nonlocal lifetime_ms
        reply = await connection.ask(SaslAuthenticateRequest(message), SaslAuthenticateResponse, 1, seconds_max)
        if reply.error_code:
            raise Refused(reply.error_code, f"{who}{reply.error_message or 'authentication failed'}")
        lifetime_ms = reply.session_lifetime_ms
        return bytes(reply.auth_bytes)

    await _EXCHANGES.get(sasl.mechanism, _prove_password)(sasl, send)
    seconds = lifetime_ms / 1000 * random.uniform(*RENEWED_AFTER) if lifetime_ms else inf
    connection.renew_login(seconds, lambda: authenticate(connection, sasl, seconds_max))


Send = Callable[[bytes], Awaitable[bytes]]


async def _send_token(sasl: Sasl, send: Send) -> None:
    token = sasl.password if sasl.token is None else await asyncio.to_thread(sasl.token)
    # The token is the whole identity; brokers answer a bad one with JSON first, and refuse what follows.
    if await send(bearer_message(token, sasl.extensions)):
        await send(b"\1")
        raise Refused(ErrorCode.SASL_AUTHENTICATION_FAILED, "the token is not taken")


async def _send_password(sasl: Sasl, send: Send) -> None:
    await send(f"\0{sasl.username}\0{sasl.password}".encode())


async def _prove_password(sasl: Sasl, send: Send) -> None:
    client = ScramClient(scram_digest(sasl.mechanism), sasl.username, sasl.password)
    server_first = await send(client.first_message())
    # Milliseconds of work, which other brokers and clients on this loop are not to wait for.
    final = await send(await asyncio.to_thread(client.final_message, server_first))
    if not client.is_server_known(final):
        raise Refused(ErrorCode.SASL_AUTHENTICATION_FAILED, "the broker does not know the password it asked for")


_EXCHANGES: Final[Mapping[str, Callable[[Sasl, Send], Awaitable[None]]]] = {
    BEARER: _send_token,
    "PLAIN": _send_password,
}
