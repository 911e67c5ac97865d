"""Whether anybody listens at `--bootstrap`, tried with a bare connect: a client library would go on trying for long."""

import socket

from headrace.base import bootstrap
from headrace.base.errors import UserError
from headrace.cli.failure import ExitCode, Failure

CONNECT_SECONDS = 3.0


def parse_bootstrap(text: str) -> list[tuple[str, int]]:
    try:
        return bootstrap.parse_bootstrap(text)
    except UserError as error:
        raise Failure(f"--bootstrap: {error.cause}", error.fix, ExitCode.USAGE) from None


def require_reachable(addresses: str) -> None:
    reasons = []
    for host, port in parse_bootstrap(addresses):
        try:
            socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
            return
        except OSError as error:
            reasons.append(f"{host}:{port}: {(error.strerror or str(error)).lower()}")
    raise Failure(
        f"no broker answers ({'; '.join(reasons)})",
        "start one with `headrace up`, or name yours with --bootstrap HOST:PORT",
        ExitCode.UNREACHABLE,
    )
