"""Whether anybody answers at `--bootstrap`, and takes us: a client library would go on trying for long.

A bare connect comes first where there is no TLS, then a hello with the command's own identity: a wrong password, a
certificate that is not trusted and a listener that wants TLS are told at once, in the broker's words.
"""

import asyncio
import socket

from headrace.base import bootstrap
from headrace.base.errors import Refused, UserError
from headrace.cli.client_file import client_settings
from headrace.cli.failure import ExitCode, Failure
from headrace.client.bearer import BEARER, TOKEN_URL
from headrace.client.connection import Disconnected
from headrace.client.peer import Peer
from headrace.client.security import MECHANISMS, security_from
from headrace.wire.messages.metadata import MetadataRequest, MetadataResponse

CONNECT_SECONDS = 3.0
SECURED = "a cluster with TLS or logins needs --client-config FILE or HEADRACE_CONFIG (docs/security.md)"
TRUSTED = (
    "see whether it runs, and security.protocol and ssl.ca.location in the file of --client-config (docs/security.md)"
)


def parse_bootstrap(text: str) -> list[tuple[str, int]]:
    try:
        return bootstrap.parse_bootstrap(text)
    except UserError as error:
        raise Failure(f"--bootstrap: {error.cause}", error.fix, ExitCode.USAGE) from None


def require_reachable(addresses: str) -> None:
    reasons = []
    has_tls = client_settings().get("security.protocol", "").upper().endswith("SSL")
    for host, port in parse_bootstrap(addresses):
        try:
            if not has_tls:
                # One that goes away without a word would be a warning in the log of a broker that waits for TLS.
                socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
            _require_welcome(host, port)
            return
        except OSError as error:
            reasons.append(f"{host}:{port}: {(error.strerror or str(error)).lower()}")
        except Disconnected as error:
            if not has_tls:
                raise Failure(f"{host}:{port}: {error}", SECURED, ExitCode.UNREACHABLE) from None
            reasons.append(f"{host}:{port}: {error}")
    fix = TRUSTED if has_tls else "start one with `headrace up`, or name yours with --bootstrap HOST:PORT"
    raise Failure(f"no broker answers ({'; '.join(reasons)})", fix, ExitCode.UNREACHABLE)


def _require_welcome(host: str, port: int) -> None:
    """Fails if the broker refuses us. One that takes its time is left to the command's own deadline."""
    settings = client_settings()
    is_sasl = settings.get("security.protocol", "").upper().startswith("SASL")
    mechanism = settings.get("sasl.mechanism", settings.get("sasl.mechanisms", "")).upper()
    if is_sasl and mechanism not in (*MECHANISMS, BEARER):
        return  # librdkafka's own affair
    try:
        asyncio.run(_greet(host, port))
    except TimeoutError:
        pass
    except Refused as refusal:
        named = TOKEN_URL if mechanism == BEARER else "sasl.username and sasl.password"
        fix = f"see {named} in the file of --client-config"
        raise Failure(f"{host}:{port}: {refusal.message}", fix, ExitCode.REFUSED) from None


async def _greet(host: str, port: int) -> None:
    async with asyncio.timeout(CONNECT_SECONDS):
        peer = await Peer.open((host, port), "headrace-cli", security_from(client_settings()))
        try:
            # Before a login brokers answer ApiVersions only, and close at anything else.
            await peer.ask(MetadataRequest(topics=[]), MetadataResponse)
        finally:
            peer.connection.close()
