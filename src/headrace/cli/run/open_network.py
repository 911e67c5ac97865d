"""The rule that nobody is served over a network without TLS and a login, unless somebody has said so plainly.

A listener is safe where its machine alone can reach it, or where it encrypts and knows whom it serves: SASL_SSL, or SSL that
wants certificates of clients. A host name counts as a network, whatever it resolves to today.
"""

import ipaddress
from collections.abc import Iterable
from typing import NamedTuple

from headrace.cli.failure import ExitCode, Failure

OPTION = "--allow-insecure-network"
FIX = f"docs/security.md secures it; or listen on 127.0.0.1, or say {OPTION} where nobody but friends can reach it"


class Door(NamedTuple):
    """A listener with what it asks of those who come."""

    name: str
    protocol: str
    host: str
    port: int
    wants_certificate: bool = False


def require_safe(doors: Iterable[Door]) -> None:
    for door in doors:
        if not is_loopback(door.host) and (cause := _weakness(door)):
            host = door.host or "0.0.0.0"
            raise Failure(f"listener {door.name} at {host}:{door.port} {cause}", FIX, ExitCode.USAGE)


def require_loopback(what: str, host: str, port: int) -> None:
    """Fails for a server without logins that more than this machine could reach."""
    if not is_loopback(host):
        raise Failure(f"{what} at {host or '0.0.0.0'}:{port} would serve everybody on the network", FIX, ExitCode.USAGE)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _weakness(door: Door) -> str:
    match door.protocol:
        case "SASL_SSL":
            return ""
        case "SSL":
            return (
                ""
                if door.wants_certificate
                else "would serve everybody on the network: ssl.client.auth is not required"
            )
        case "SASL_PLAINTEXT":
            return "would have logins and messages cross the network without encryption"
        case _:
            return "would serve everybody on the network, without encryption"
