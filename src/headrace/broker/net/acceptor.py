"""Accepting by hand, where each connection needs a TLS handshake, or new ones come at a bounded rate.

    accept ─▶ waits for the first bytes ─▶ are they TLS? ─▶ its turn ─▶ handshake ─▶ connection
                 │ deadline, bound            │ no: told why         │ a few a turn of the loop

A client that says nothing costs a descriptor and a timer, and no TLS state. A handshake computes for a millisecond: only a
few begin in a turn of the loop, so that a thousand at once hold up nobody for long. Certificates are asked for anew for
each connection: the ones of the moment.
"""

import asyncio
import errno
import logging
import socket
import ssl
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from headrace.base.probe import Probes
from headrace.base.settings import INT_MAX
from headrace.broker.net.handshake_failures import HandshakeFailures

logger = logging.getLogger("headrace.listener")

HANDSHAKE_SECONDS_MAX = 10.0
# So many clients may be between accept and the end of their handshake; then the one that waits longest makes room.
HANDSHAKES_WAITING_MAX = 2_000
# And so many of them may be in their handshake, which costs memory.
HANDSHAKES_MAX = 1_000
ACCEPTS_PER_TURN = 32
HANDSHAKES_PER_TURN = 4
NO_DESCRIPTORS_SECONDS = 0.5


class Tls(Protocol):
    @property
    def server(self) -> ssl.SSLContext: ...


class ArrivalPlaces(NamedTuple):
    """The descriptors that arrivals may have: to take one, or be told that none is left, and to give it back."""

    take: Callable[[], bool]
    give_back: Callable[[], None]


class Acceptor:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        connection: Callable[[], asyncio.BaseProtocol],
        tls: Tls | None,
        rate_max: int,
        probes: Probes,
        places: ArrivalPlaces,
        backlog: int,
    ) -> None:
        self.sockets: list[socket.socket] = []
        self._loop = loop
        self._connection = connection
        self._tls = tls
        self._rate = Rate(rate_max, loop.time())
        self._probes = probes
        self._failures = HandshakeFailures(loop.time)
        self._places = places
        self._backlog = backlog
        self._is_serving = False
        # Accepted, and not yet heard of; ordered by age.
        self._silent: dict[Arrival, None] = {}
        self._heard: deque[Arrival] = deque()
        self._shaking: dict[asyncio.Task[None], None] = {}
        self._is_scheduled = False

    def bind(self, host: str | None, port: int) -> None:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in dict.fromkeys(found):
            try:
                self.sockets.append(_bound(family, (address[0], port, *address[2:])))
            except OSError as error:
                # A machine may know of IPv6 and have none.
                if error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL) or host is not None:
                    raise
            else:
                # All have the port that the first was given.
                port = self.sockets[0].getsockname()[1]
        if not self.sockets:
            raise OSError(errno.EADDRNOTAVAIL, f"no address to listen on for {host or 'all interfaces'}")

    async def start_serving(self) -> None:
        self._is_serving = True
        for bound in self.sockets:
            bound.listen(self._backlog)
            self._watch(bound)

    def close(self) -> None:
        """Takes no more connections, and ends those that are not through their handshake."""
        self._is_serving = False
        for bound in self.sockets:
            self._loop.remove_reader(bound.fileno())
            bound.close()
        self.sockets = []
        for task in list(self._shaking):
            task.cancel()
        for arrival in [*self._silent, *self._heard]:
            arrival.end()
        self._silent, self._heard = {}, deque()

    # -- accepting -------------------------------------------------------------------------------------------------

    def _watch(self, bound: socket.socket) -> None:
        if self._is_serving:
            self._loop.add_reader(bound.fileno(), self._accept, bound)

    def _accept(self, bound: socket.socket) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            pause = self._rate.seconds_to_wait(self._loop.time())
            if pause > 0:
                self._rest(bound, pause)
                return
            try:
                accepted, address = bound.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                logger.error("cannot accept connections: %(cause)s", {"cause": error})
                self._rest(bound, NO_DESCRIPTORS_SECONDS)
                return
            self._rate.take()
            accepted.setblocking(False)
            self._on_accepted(accepted, f"{address[0]}:{address[1]}")

    def _rest(self, bound: socket.socket, seconds: float) -> None:
        self._loop.remove_reader(bound.fileno())
        self._loop.call_later(seconds, self._watch, bound)

    def _on_accepted(self, accepted: socket.socket, peer: str) -> None:
        while len(self._silent) >= HANDSHAKES_WAITING_MAX or not self._places.take():
            if not self._silent:
                self._probes.connections_refused += 1
                accepted.close()
                return
            self._let_go(next(iter(self._silent)), "another client needs its place")
        arrival = Arrival(accepted, peer, self._places.give_back)
        if self._tls is None:
            self._heard.append(arrival)
            self._schedule()
            return
        self._silent[arrival] = None
        arrival.deadline = self._loop.call_later(HANDSHAKE_SECONDS_MAX, self._let_go, arrival, "it says nothing")
        self._loop.add_reader(accepted.fileno(), self._on_first_bytes, arrival)

    def _let_go(self, arrival: "Arrival", cause: str) -> None:
        self._failures.note(arrival.peer, cause)
        self._probes.peer_errors += 1
        self._unwatch(arrival)
        arrival.end()

    def _unwatch(self, arrival: "Arrival") -> None:
        del self._silent[arrival]
        self._loop.remove_reader(arrival.socket.fileno())
        if arrival.deadline is not None:
            arrival.deadline.cancel()

    def _on_first_bytes(self, arrival: "Arrival") -> None:
        try:
            first = arrival.socket.recv(5, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            first = b""
        if not first:
            # Health checks of load balancers come and go like that.
            self._unwatch(arrival)
            arrival.end()
        elif not b"\x16\x03".startswith(first[:2]):
            self._let_go(arrival, _not_tls(first))
        else:
            self._unwatch(arrival)
            self._heard.append(arrival)
            self._schedule()

    # -- handshakes ------------------------------------------------------------------------------------------------

    def _schedule(self) -> None:
        if not self._is_scheduled and self._heard:
            self._is_scheduled = True
            self._loop.call_soon(self._begin_some)

    def _begin_some(self) -> None:
        self._is_scheduled = False
        for _ in range(min(HANDSHAKES_PER_TURN, len(self._heard))):
            arrival = self._heard.popleft()
            if len(self._shaking) >= HANDSHAKES_MAX:
                oldest = next(iter(self._shaking))
                del self._shaking[oldest]
                oldest.cancel()
            task = self._loop.create_task(self._open(arrival))
            self._shaking[task] = None
            task.add_done_callback(partial(self._on_open_done, arrival))
        # Not at once: the handshakes that have just begun compute in the next turn.
        if self._heard:
            self._is_scheduled = True
            self._loop.call_later(0, self._begin_some)

    def _on_open_done(self, arrival: "Arrival", task: asyncio.Task[None]) -> None:
        self._shaking.pop(task, None)
        if task.cancelled():
            arrival.end()
            self._probes.peer_errors += 1
        elif (error := task.exception()) is not None:
            arrival.end()
            fields = {"peer": arrival.peer, "request": "", "cause": error}
            logger.error("no connection with %(peer)s: %(cause)s", fields, exc_info=error)
        arrival.give_back()

    async def _open(self, arrival: "Arrival") -> None:
        # `Connection` takes a descriptor of its own; the time between the two is no matter.
        context = None if self._tls is None else self._tls.server
        seconds = None if context is None else HANDSHAKE_SECONDS_MAX
        try:
            await self._loop.connect_accepted_socket(
                self._connection, arrival.socket, ssl=context, ssl_handshake_timeout=seconds
            )
        except (OSError, TimeoutError) as error:
            arrival.end()
            self._probes.peer_errors += 1
            self._failures.note(arrival.peer, handshake_failure(error))


def _bound(family: int, address: tuple[object, ...]) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
    except BaseException:
        bound.close()
        raise
    bound.setblocking(False)
    return bound


class Arrival:
    """An accepted socket on its way to a connection. It holds a descriptor of the bound ones."""

    def __init__(self, accepted: socket.socket, peer: str, give_back: Callable[[], None]) -> None:
        self.socket = accepted
        self.peer = peer
        self.deadline: asyncio.TimerHandle | None = None
        self._give_back: Callable[[], None] | None = give_back

    def end(self) -> None:
        self.socket.close()
        self.give_back()

    def give_back(self) -> None:
        if self._give_back is not None:
            self._give_back()
            self._give_back = None


class Rate:
    """So many a second, at most a second's worth at once."""

    def __init__(self, per_second: int, now: float) -> None:
        self._per_second = per_second
        self._left = float(per_second)
        self._at = now

    def seconds_to_wait(self, now: float) -> float:
        if self._per_second == INT_MAX:
            return 0.0
        self._left = min(float(self._per_second), self._left + (now - self._at) * self._per_second)
        self._at = now
        return 0.0 if self._left >= 1 else (1 - self._left) / self._per_second

    def take(self) -> None:
        self._left -= 1


def _not_tls(first: bytes) -> str:
    if first[:4] in (b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI"):
        return "this is HTTP, and this listener speaks Kafka over TLS"
    return "its bytes are not TLS: the client needs security.protocol=SSL or SASL_SSL, as the listener says"


_CAUSES = {
    "UNSUPPORTED_PROTOCOL": "the client speaks none of the versions in ssl.enabled.protocols",
    "NO_SHARED_CIPHER": "the client offers none of the cipher suites (ssl.cipher.suites)",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the client shows no certificate, and ssl.client.auth=required",
    "CERTIFICATE_VERIFY_FAILED": "the client's certificate is not trusted (ssl.truststore.location)",
    "TLSV1_ALERT_UNKNOWN_CA": "the client does not trust our certificate: give it the authority (ssl.ca.location)",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the client does not trust our certificate: give it the authority (ssl.ca.location)",
    "SSLV3_ALERT_BAD_CERTIFICATE": "the client does not take our certificate: look at its names and its dates",
}


def handshake_failure(error: BaseException) -> str:
    """The cause of a handshake that failed, with the setting that matters."""
    if isinstance(error, ssl.SSLError):
        reason = getattr(error, "reason", None) or ""
        told = _CAUSES.get(reason, "")
        verified = getattr(error, "verify_message", "")
        return f"{told}: {verified}" if told and verified else told or reason or str(error)
    return str(error) or "it took too long or broke off"
