"""Whether anybody listens at `--bootstrap`, tried with a bare connect: a client library would go on trying for long."""

import socket

from headrace.cli.failure import ExitCode, Failure

CONNECT_SECONDS = 3.0


def parse_bootstrap(text: str) -> list[tuple[str, int]]:
    addresses = []
    for part in text.split(","):
        host, separator, port = part.strip().rpartition(":")
        if not separator or not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise Failure(
                f"--bootstrap {part.strip()}: this is not HOST:PORT",
                "for example --bootstrap 127.0.0.1:9092",
                ExitCode.USAGE,
            )
        addresses.append((host.strip("[]"), int(port)))
    return addresses


def require_reachable(bootstrap: str) -> None:
    reasons = []
    for host, port in parse_bootstrap(bootstrap):
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
