"""Which addresses a webhook may go to, and that it goes to the one that was judged."""

import asyncio
import socket
from ipaddress import ip_address

import httpcore
import pytest

from headrace.gateway.webhooks import connect
from headrace.gateway.webhooks.target import (
    ForbiddenTarget,
    Target,
    check_addresses,
    is_allowed,
    parse_networks,
    parse_url,
)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.1.2.3", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fc00::1", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2001:db8::1",
        "0.1.2.3", "100.127.255.255", "192.0.0.8", "192.88.99.1", "239.255.255.255", "ff0e::1", "fec0::1", "feff::1",
        "::ffff:100.64.0.1", "::ffff:224.0.0.1", "::ffff:0:10.0.0.1", "::10.0.0.1", "64:ff9b::a00:1", "64:ff9b::6440:1",
        "64:ff9b::e000:1", "64:ff9b:1::a00:1", "2002:a00:1::1", "2002:c0a8:101::", "2002:a9fe:a9fe::", "2002:6440:1::",
        "2002:e000:1::", "3fff::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "100::1",
    ],
)  # fmt: skip
def test_private_addresses_are_forbidden(address: str) -> None:
    assert not is_allowed(ip_address(address), ())


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1"]
)
def test_public_addresses_are_allowed(address: str) -> None:
    assert is_allowed(ip_address(address), ())


def test_a_network_may_be_allowed() -> None:
    networks = parse_networks(["10.1.0.0/16", "fd00::/8"])
    assert is_allowed(ip_address("10.1.2.3"), networks)
    assert is_allowed(ip_address("::ffff:10.1.2.3"), networks)
    assert is_allowed(ip_address("fd00::1"), networks)
    assert not is_allowed(ip_address("10.2.0.1"), networks)
    assert is_allowed(ip_address("fec0::1"), parse_networks(["fec0::/10"]))


def test_one_bad_address_among_good_ones_is_enough() -> None:
    assert check_addresses("a.example", ["1.1.1.1"], ()) == ["1.1.1.1"]
    with pytest.raises(ForbiddenTarget, match=r"a\.example is 10\.0\.0\.1"):
        check_addresses("a.example", ["1.1.1.1", "10.0.0.1"], ())
    with pytest.raises(ForbiddenTarget):
        check_addresses("a.example", ["fe80::1%eth0"], ())


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://example.com/hook?x=1", Target("https", "example.com", 443)),
        ("http://example.com:8080", Target("http", "example.com", 8080)),
        ("http://[2606:4700::1111]/", Target("http", "2606:4700::1111", 80)),
    ],
)
def test_urls(url: str, target: Target) -> None:
    assert parse_url(url) == target


@pytest.mark.parametrize(
    "url",
    [
        "", "example.com", "ftp://example.com/", "file:///etc/passwd", "http://", "http:///path", "http://a b/",
        "http://a/\r\nX: y",
        "http://user@example.com/", "http://user:password@example.com/", "http://example.com/#part", "http://example.com:99999/",
        "http://exämple.com/", "http://example.com/" + "x" * 2000,
    ],
)  # fmt: skip
def test_what_is_no_plain_url(url: str) -> None:
    with pytest.raises(ValueError):
        parse_url(url)


def test_a_name_that_changes_its_mind_gains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Public when it was looked up for the subscription, private when it is dialled: the dialled address is judged."""
    answers = iter([["1.1.1.1"], ["127.0.0.1"]])

    async def resolve(host: str, port: int) -> list[str]:
        return next(answers)

    monkeypatch.setattr(connect, "resolve", resolve)
    asyncio.run(_rebound())


async def _rebound() -> None:
    assert check_addresses("a.example", await connect.resolve("a.example", 80), ()) == ["1.1.1.1"]
    with pytest.raises(ForbiddenTarget):
        await connect.CheckedConnections(()).connect_tcp("a.example", 80)


def test_unix_sockets_are_no_hosts() -> None:
    with pytest.raises(httpcore.ConnectError):
        asyncio.run(connect.CheckedConnections(()).connect_unix_socket("/var/run/docker.sock"))


def test_numbers_in_disguise_are_resolved_before_they_are_judged() -> None:
    """`http://2130706433/` is 127.0.0.1 to the system, so it must be to us."""
    assert socket.inet_aton("2130706433") == b"\x7f\x00\x00\x01"
    assert asyncio.run(connect.resolve("2130706433", 80)) == ["127.0.0.1"]
