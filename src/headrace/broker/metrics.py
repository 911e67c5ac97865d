"""`/metrics`: the probes as Prometheus text, over the smallest HTTP that a scraper needs.

Nothing is computed before somebody asks. Partition counters are summed by topic here, so the hot path only adds to
plain integers; what a scrape costs follows the number of topics, not of requests. The text is written by hand because the
client library would cost every broker 16 MB and 140 ms for what are a few lines.
"""

import asyncio
import resource
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from headrace.base.probe import Probes
from headrace.broker.metric import Metric
from headrace.broker.upkeep_metrics import upkeep_metrics

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.partition import Partition

PARTITIONS_PER_TURN = 1000
REQUEST_BYTES_MAX = 8192
REQUEST_SECONDS_MAX = 5.0
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


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
        target = rest.split(b" ", 1)[0].split(b"?", 1)[0]
        if method != b"GET":
            return _http("405 Method Not Allowed", "text/plain", b"only GET is answered here\n")
        if target != b"/metrics":
            return _http("404 Not Found", "text/plain", b"the metrics are at /metrics\n")
        return _http("200 OK", CONTENT_TYPE, (await self._page()).encode())

    async def _page(self) -> str:
        """With tens of thousands of partitions it takes a while: others have their turn in between."""
        rows = TopicRows()
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


def _http(status: str, content_type: str, body: bytes) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def render(metrics: Iterable[Metric]) -> str:
    lines: list[str] = []
    for metric in metrics:
        lines += (f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}")
        lines += [f"{metric.name}{labels} {value}" for labels, value in metric.samples]
    return "\n".join(lines) + "\n"


class TopicRows:
    """The counters of partitions, summed by topic."""

    def __init__(self, partitions: "Iterable[Partition]" = ()) -> None:
        self._rows: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0, 0])
        for partition in partitions:
            self.add(partition)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, partition: "Partition") -> None:
        # Topic names hold no character that a label would have to escape.
        row = self._rows[f'{{topic="{partition.id.topic}"}}']
        row[0] += partition.records_in
        row[1] += partition.bytes_in
        row[2] += partition.bytes_out
        row[3] += partition.log.size_bytes
        row[4] += partition.log.segment_count
        row[5] += 1

    def column(self, place: int) -> list[tuple[str, float]]:
        return [(labels, row[place]) for labels, row in self._rows.items()]


def metrics_of(broker: "Broker", rows: TopicRows | None = None) -> Iterator[Metric]:
    requests = [(f'{{api="{name}",version="{version}"}}', count) for name, version, count in broker.dispatch.counts()]
    yield Metric("headrace_requests_total", "counter", "Requests by API and version.", requests)
    yield from _topics(TopicRows(broker.partitions) if rows is None else rows)
    yield from upkeep_metrics(broker)
    yield from _totals(broker.probes)


def _topics(rows: TopicRows) -> Iterator[Metric]:
    columns = (
        ("headrace_topic_records_in_total", "counter", "Records appended by producers."),
        ("headrace_topic_bytes_in_total", "counter", "Bytes appended by producers."),
        ("headrace_topic_bytes_out_total", "counter", "Bytes read by consumers."),
        ("headrace_topic_log_bytes", "gauge", "Bytes on disk."),
        ("headrace_topic_segments", "gauge", "Segments on disk."),
        ("headrace_topic_partitions", "gauge", "Partitions on this broker."),
    )
    for place, (name, kind, help_text) in enumerate(columns):
        yield Metric(name, kind, help_text, rows.column(place))


def _totals(probes: Probes) -> Iterator[Metric]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cpu_seconds = usage.ru_utime + usage.ru_stime
    counters = (
        ("headrace_bytes_received_total", "Bytes read from all connections.", probes.bytes_received),
        ("headrace_bytes_sent_total", "Bytes written to all connections.", probes.bytes_sent),
        ("headrace_connections_accepted_total", "Connections accepted.", probes.connections_accepted),
        ("headrace_connections_refused_total", "Connections refused over max.connections.", probes.connections_refused),
        ("headrace_peer_errors_total", "Connections closed because the peer broke the protocol.", probes.peer_errors),
        ("headrace_handler_failures_total", "Connections closed because of a bug of ours.", probes.handler_failures),
        ("headrace_sync_rounds_total", "Rounds of group commit.", probes.sync_rounds),
        ("headrace_sync_files_total", "Files synced in them.", probes.sync_files),
        ("headrace_sync_seconds_total", "Time spent in them.", probes.sync_seconds),
        ("headrace_loop_stalls_total", "Times the event loop was held up for more than 50 ms.", probes.loop_stalls),
        ("headrace_unclean_elections_total", "Leaders that may lack acknowledged records.", probes.unclean_elections),
        ("headrace_process_cpu_seconds_total", "CPU time, user and system.", cpu_seconds),
    )
    gauges = (
        ("headrace_connections_open", "Connections open now.", probes.connections_open),
        ("headrace_loop_lag_seconds", "Lag of the event loop when it was last measured.", probes.loop_lag_seconds),
        ("headrace_loop_lag_max_seconds", "The longest lag since the start.", probes.loop_lag_max_seconds),
        ("headrace_process_max_resident_bytes", "The most memory held so far.", usage.ru_maxrss * 1024),
    )
    for kind, rows in (("counter", counters), ("gauge", gauges)):
        for name, help_text, value in rows:
            yield Metric(name, kind, help_text, [("", value)])
