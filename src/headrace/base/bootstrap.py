"""Addresses of brokers as `--bootstrap` and Kafka's `bootstrap.servers` list them: `HOST:PORT,HOST:PORT`."""

from headrace.base.errors import UserError


def parse_bootstrap(text: str) -> list[tuple[str, int]]:
    addresses = []
    for part in text.split(","):
        host, _, port = part.strip().rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise UserError(f"{part.strip()!r} is not HOST:PORT", "for example 127.0.0.1:9092")
        addresses.append((host.strip("[]"), int(port)))
    return addresses
