"""Addresses that a webhook may go to: public addresses, and to others only where the gateway's settings allow their network.

Otherwise anyone who may subscribe could make the gateway speak to machines that only it can reach (SSRF). A name is
judged by every address it resolves to, and a connection goes to an address that was judged (`connect`), so a name whose
answer changes in between gains nothing.
"""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

URL_CHARACTERS_MAX = 2000
# IPv6 addresses that reach the IPv4 address in their last or middle bits by way of a translator.
_NAT64 = ip_network("64:ff9b::/96")
# Some versions of Python take these for global: site-local, documentation, IETF's own, relays of 6to4.
_NOT_PUBLIC = tuple(map(ip_network, ("fec0::/10", "3fff::/20", "192.0.0.0/24", "192.88.99.0/24")))


class Target(NamedTuple):
    scheme: str
    host: str
    port: int


class ForbiddenTarget(Exception):
    """The sentence names the address and why it is refused."""


def parse_url(url: str) -> Target:
    """ValueError for whatever is not a plain http(s) URL."""
    if len(url) > URL_CHARACTERS_MAX:
        raise ValueError(f"a URL of more than {URL_CHARACTERS_MAX} characters")
    if any(character <= " " or character > "~" for character in url):
        raise ValueError("a URL has no spaces, control or non-ASCII characters; encode them")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise ValueError("the URL must begin with https:// or http://")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL with a password would be shown to others: rely on the signature instead")
    if parts.fragment:
        raise ValueError("what follows # never leaves a client: take it away")
    if not parts.hostname:
        raise ValueError("the URL names no host")
    return Target(parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80))


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    return tuple(ip_network(text) for text in texts)


def check_addresses(host: str, addresses: Sequence[str], allowed: Sequence[Network]) -> list[str]:
    """The addresses, all of them allowed; ForbiddenTarget if a single one is not."""
    for text in addresses:
        # A link-local IPv6 address may come with its interface.
        address = ip_address(text.partition("%")[0])
        if not is_allowed(address, allowed):
            raise ForbiddenTarget(f"{host} is {text}, which is not a public address")
    return list(addresses)


def is_allowed(address: Address, allowed: Sequence[Network]) -> bool:
    reached = _reached(address)
    if any(reached in network for network in allowed):
        return True
    if any(reached in network for network in _NOT_PUBLIC):
        return False
    return reached.is_global and not reached.is_multicast and not reached.is_reserved


def _reached(address: Address) -> Address:
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
