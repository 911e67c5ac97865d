"""The listeners of a broker, planned from its settings: names, protocols, where they bind and what clients are told.

    listeners=INSIDE://10.0.0.5:9092,OUTSIDE://:9094        where they bind
    advertised.listeners=INSIDE://10.0.0.5:9092,OUTSIDE://queue.example.com:19094
    listener.security.protocol.map=INSIDE:PLAINTEXT,OUTSIDE:SSL
    inter.broker.listener.name=INSIDE

Without `listeners` there is one, PLAINTEXT, at the host and port of the command line. A plan is whole: every name has a
protocol, no two listeners collide, and the one for brokers is advertised. Whether a host exists is not known here.
"""

import ipaddress
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from headrace.base.errors import UserError
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import PLAINTEXT, BrokerEndpoint
from headrace.cluster.listener_settings import OF_MECHANISMS, PREFIX, PROTOCOL_NAMES, unprefixed

_URL: Final = re.compile(r"([^:/\s]+)://\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)")
_EVERYWHERE: Final = ("", "0.0.0.0", "::")


class Url(NamedTuple):
    name: str
    host: str
    port: int

    def __str__(self) -> str:
        return (
            f"{self.name}://[{self.host}]:{self.port}" if ":" in self.host else f"{self.name}://{self.host}:{self.port}"
        )


class PlannedListener(NamedTuple):
    name: str
    protocol: str
    host: str
    """Empty for all interfaces."""
    port: int
    """0 for one that is free."""
    advertised: Url | None
    """None if clients are not told of it. Port 0 stands for the one that it binds."""

    @property
    def has_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def has_sasl(self) -> bool:
        return self.protocol.startswith("SASL")

    def endpoint(self, bound_port: int) -> BrokerEndpoint | None:
        if self.advertised is None:
            return None
        return BrokerEndpoint(self.name, self.advertised.host, self.advertised.port or bound_port, self.protocol)


class ListenerPlan(NamedTuple):
    listeners: tuple[PlannedListener, ...]
    between_brokers: str
    """The name of the one on which brokers call each other."""

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing but the one listener that older releases know."""
        return [(each.name, each.protocol) for each in self.listeners] == [(PLAINTEXT, PLAINTEXT)]

    @property
    def for_brokers(self) -> PlannedListener:
        return next(each for each in self.listeners if each.name == self.between_brokers)

    @property
    def is_apart(self) -> bool:
        """Whether brokers have a listener that clients are not meant for."""
        return len(self.listeners) > 1


def plan_listeners(config: BrokerConfig, host: str, port: int, advertised_host: str | None) -> ListenerPlan:
    """The plan, or a UserError with the setting that is wrong. Host and port are those of the command line."""
    bound = _urls(config, "listeners")
    advertised = {each.name: each for each in _urls(config, "advertised.listeners")}
    if not bound:
        bound = [Url(PLAINTEXT, host, port)]
        advertised = advertised or {PLAINTEXT: Url(PLAINTEXT, advertised_host or host, 0)}
    elif advertised_host is not None:
        raise UserError("--advertised-host goes with --host and --port", "With listeners set advertised.listeners.")
    _check_apart(bound)
    _check_owners(config.static, {each.name.lower() for each in bound})
    _check_advertised(bound, advertised)
    protocols = _protocols(config, bound)
    told = advertised or {each.name: each for each in bound}
    listeners = tuple(
        PlannedListener(each.name, protocols[each.name], *each[1:], told.get(each.name)) for each in bound
    )
    if config.value("listeners"):
        _check_reachable(listeners)
    return ListenerPlan(listeners, _between_brokers(config, listeners))


def _urls(config: BrokerConfig, setting: str) -> list[Url]:
    words = config.value(setting)
    assert isinstance(words, tuple)
    return [_url(word, setting) for word in words]


def _url(text: str, setting: str) -> Url:
    found = _URL.fullmatch(text)
    if found is None or int(found[3]) > 65535:
        raise UserError(f"{setting}: {text!r} is not NAME://HOST:PORT", "Write for example OUTSIDE://0.0.0.0:9094")
    return Url(found[1].upper(), found[2], int(found[3]))


def _check_apart(bound: Iterable[Url]) -> None:
    names: set[str] = set()
    ports: dict[int, Url] = {}
    for each in bound:
        if each.name in names:
            raise UserError(f"listeners has {each.name} twice", "Give each listener a name of its own.")
        names.add(each.name)
        other = ports.setdefault(each.port, each) if each.port else each
        if other is not each and {_family(other.host), _family(each.host)} != {4, 6}:
            raise UserError(f"listeners has port {each.port} twice", "Give each listener a port of its own.")


def _check_owners(settings: Iterable[str], listeners: Collection[str]) -> None:
    """A setting that no listener reads would be taken for one that protects it."""
    for name in settings:
        listener, _, rest = name.removeprefix(PREFIX).partition(".")
        if not name.startswith(PREFIX):
            continue
        if listener not in listeners:
            known = ", ".join(f"{PREFIX}{each}.…" for each in sorted(listeners))
            raise UserError(f"{name}: there is no listener of this name, in lower case", f"Write one of {known}")
        setting = unprefixed(name)
        if setting != rest and setting not in OF_MECHANISMS:
            raise UserError(f"{name}: this is not read for a mechanism alone", f"Write {PREFIX}{listener}.{setting}")


def _family(host: str) -> int:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).version
    except ValueError:
        return 0


def _check_advertised(bound: Iterable[Url], advertised: Mapping[str, Url]) -> None:
    unknown = sorted(advertised.keys() - {each.name for each in bound})
    if unknown:
        raise UserError(f"advertised.listeners has {unknown[0]}, listeners has not", "Name the same ones in both.")


def _protocols(config: BrokerConfig, bound: Iterable[Url]) -> dict[str, str]:
    given = {each: each for each in PROTOCOL_NAMES}
    words = config.value("listener.security.protocol.map")
    assert isinstance(words, tuple)
    for word in words:
        name, _, protocol = word.upper().partition(":")
        if not name or protocol not in PROTOCOL_NAMES:
            fix = f"Write NAME:PROTOCOL with one of {', '.join(PROTOCOL_NAMES)}."
            raise UserError(f"listener.security.protocol.map has {word!r}", fix)
        given[name] = protocol
    for each in bound:
        if each.name not in given:
            fix = f"Add {each.name}:SSL, or another protocol, to listener.security.protocol.map."
            raise UserError(f"listener {each.name} has no protocol", fix)
    return {each.name: given[each.name] for each in bound}


def _check_reachable(listeners: Iterable[PlannedListener]) -> None:
    for each in listeners:
        if each.advertised is not None and each.advertised.host in _EVERYWHERE:
            fix = f"Set advertised.listeners, with {each.name}://HOST:PORT."
            raise UserError(
                f"clients cannot connect to listener {each.name} at {each.advertised.host or 'no host'!r}", fix
            )


def _between_brokers(config: BrokerConfig, listeners: tuple[PlannedListener, ...]) -> str:
    """The listener that is named, or the one named like the protocol; a broker with a single listener needs neither."""
    named, protocol = config.string("inter.broker.listener.name"), config.string("security.inter.broker.protocol")
    if named and protocol:
        fix = "Set one of the two; the protocol of a listener is in listener.security.protocol.map."
        raise UserError("inter.broker.listener.name and security.inter.broker.protocol are both set", fix)
    told = [each.name for each in listeners if each.advertised is not None]
    if not named and not protocol and len(listeners) == 1 and told:
        return told[0]
    name = (named or protocol or PLAINTEXT).upper()
    if name not in told:
        fix = f"Set inter.broker.listener.name to one of {', '.join(told) or 'advertised.listeners'}."
        raise UserError(f"brokers would call each other on a listener {name}, which is not advertised", fix)
    return name
