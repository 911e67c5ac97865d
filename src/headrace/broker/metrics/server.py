"""`/metrics`, `/livez` and `/readyz`: the probes as Prometheus text, and health, over the smallest HTTP that is asked for.

Nothing is computed before somebody asks, so the hot path only adds to plain integers; what a scrape costs follows the
number of partitions, not of requests. docs/monitoring.md explains each metric, and a test holds it to this.
"""

import asyncio
import json
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from headrace import __version__
from headrace.base.exposition import CONTENT_TYPE, Metric, histogram_samples, labels_of, render
from headrace.broker.metrics.connections import connection_metrics
from headrace.broker.metrics.health import Check, liveness, readiness
from headrace.broker.metrics.process import process_metrics
from headrace.broker.metrics.topics import TopicRows, partition_metrics
from headrace.broker.metrics.upkeep import upkeep_metrics

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

PARTITIONS_PER_TURN = 1000
REQUEST_BYTES_MAX = 8192
REQUEST_SECONDS_MAX = 5.0


class MetricsServer:
    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        self._server = await asyncio.start_server(self._answer, host, port, limit=REQUEST_BYTES_MAX)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    def stop(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS_MAX):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(await self._response(head))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _response(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b" ")
        path, _, query = rest.split(b" ", 1)[0].decode("latin-1").partition("?")
        if method != b"GET":
            return _http("405 Method Not Allowed", "text/plain", b"only GET is answered here\n")
        match path:
            case "/livez" | "/healthz":
                return self._health("alive", liveness(self._broker))
            case "/readyz":
                return self._health("ready", await readiness(self._broker))
            case _ if not hasattr(self._broker, "listeners"):
                return _http("503 Service Unavailable", "text/plain", b"the logs are being opened\n")
            case "/metrics":
                page = await self._page()
            case "/metrics/partitions":
                page = self._partitions_page(parse_qs(query).get("topic", []))
            case _:
                return _http("404 Not Found", "text/plain", b"here are /metrics, /livez and /readyz\n")
        return _http("200 OK", CONTENT_TYPE, page.encode())

    def _health(self, word: str, checks: list[Check]) -> bytes:
        is_passed = all(check.is_passed for check in checks)
        body = {
            "status": word if is_passed else f"not {word}",
            "broker": self._broker.id,
            "checks": {name: {"passed": passed, "detail": detail} for name, passed, detail in checks},
        }
        status = "200 OK" if is_passed else "503 Service Unavailable"
        return _http(status, "application/json", f"{json.dumps(body)}\n".encode())

    async def _page(self) -> str:
        """With tens of thousands of partitions it takes a while: others have their turn in between."""
        rows = TopicRows(self._broker.clock.now().mono)
        for count, partition in enumerate(list(self._broker.partitions), 1):
            rows.add(partition)
            if count % PARTITIONS_PER_TURN == 0:
                await asyncio.sleep(0)
        pieces = []
        for metric in metrics_of(self._broker, rows):
            pieces.append(render([metric]))
            if len(rows) >= PARTITIONS_PER_TURN:
                await asyncio.sleep(0)
        return "".join(pieces)

    def _partitions_page(self, topics: list[str]) -> str:
        """Only of topics that are named: all of a large cluster would stop the loop."""
        partitions = [each for each in self._broker.partitions if each.id.topic in topics]
        return render(partition_metrics(partitions, self._broker.clock.now().mono))


def _http(status: str, content_type: str, body: bytes) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def metrics_of(broker: "Broker", rows: TopicRows | None = None) -> Iterator[Metric]:
    requests = [(labels_of(api=name, version=version), count) for name, version, count in broker.dispatch.counts()]
    latencies = chain.from_iterable(histogram_samples(seen, api=name) for name, seen in broker.dispatch.latencies())
    yield _info(broker)
    yield Metric("headrace_requests_total", "counter", "Requests by API and version.", requests)
    yield Metric("headrace_request_seconds", "histogram", "From a request decoded to its reply ready.", latencies)
    yield from (all_rows(broker) if rows is None else rows).metrics()
    yield from upkeep_metrics(broker.retention, broker.cleaner)
    yield from _totals(broker)
    yield from connection_metrics(broker.listeners)
    yield from process_metrics(broker.disk, broker.disk_room, broker.disk_watch)


def all_rows(broker: "Broker") -> TopicRows:
    rows = TopicRows(broker.clock.now().mono)
    for partition in broker.partitions:
        rows.add(partition)
    return rows


def _info(broker: "Broker") -> Metric:
    cluster = broker.image.cluster
    labels = labels_of(broker=broker.id, version=__version__, cluster="" if cluster is None else cluster.id)
    return Metric("headrace_broker_info", "gauge", "Always 1; who this is.", [(labels, 1)])


def _totals(broker: "Broker") -> Iterator[Metric]:
    probes = broker.probes
    throttled = broker.fetchers.catch_up.throttled_seconds
    counters = (
        ("bytes_received_total", "Bytes read from all connections.", probes.bytes_received),
        ("bytes_sent_total", "Bytes written to all connections.", probes.bytes_sent),
        ("connections_accepted_total", "Connections accepted.", probes.connections_accepted),
        ("connections_refused_total", "Connections refused over max.connections.", probes.connections_refused),
        ("peer_errors_total", "Connections closed because the peer broke the protocol.", probes.peer_errors),
        ("logins_total", "Logins of clients, by SASL.", probes.logins),
        ("logins_refused_total", "Logins that were refused.", probes.logins_refused),
        ("handler_failures_total", "Requests and replies that a bug of ours broke off.", probes.handler_failures),
        ("sync_files_total", "Files synced in rounds of group commit.", probes.sync_files),
        ("throttle_seconds_total", "Time that replicas which catch up were held back.", throttled),
        ("loop_stalls_total", "Times the event loop was held up for more than 50 ms.", probes.loop_stalls),
        ("unclean_elections_total", "Leaders that may lack acknowledged records.", probes.unclean_elections),
    )
    gauges = (
        ("connections_open", "Connections open now.", probes.connections_open),
        ("loop_lag_max_seconds", "The longest delay of the event loop since the start.", probes.loop_lag_max_seconds),
        (
            "leaderless_partitions",
            "Partitions of the cluster that nobody leads.",
            broker.leaderless.count(broker.image),
        ),
        ("fenced", "1 while this broker has no lease and answers for nothing.", int(broker.partitions.is_fenced)),
        ("controller", "1 on the broker that heals the cluster.", int(broker.view.controller_id == broker.id)),
    )
    for kind, rows in (("counter", counters), ("gauge", gauges)):
        for name, help_text, value in rows:
            yield Metric(f"headrace_{name}", kind, help_text, [("", value)])
    for name, help_text, seen in (
        ("sync_seconds", "Rounds of group commit: fsync of all that was dirty.", probes.sync_rounds),
        ("loop_lag_seconds", "Delay of the event loop, measured ten times a second.", probes.loop_lag),
    ):
        yield Metric(f"headrace_{name}", "histogram", help_text, histogram_samples(seen))
