"""Findings about a cluster that may be there already: owners of ports, content of the data directory, answers of brokers."""

import os
from collections.abc import Iterator
from pathlib import Path

from headrace.base.units import size_text
from headrace.cli.doctor.findings import Finding, fail, ok, warn
from headrace.cli.failure import Failure
from headrace.cli.output import count_of
from headrace.cli.run.ports import port_holder
from headrace.cli.run.preflight import broker_ids, require_data_root
from headrace.cli.run.serve_options import METRICS_PORT


def check_ports(host: str, port: int, http_port: int) -> Iterator[Finding]:
    for name, number, option in (
        ("kafka", port, "--port"),
        ("metrics", METRICS_PORT, "--metrics-port"),
        ("http", http_port, "--http-port"),
    ):
        yield _port(host, name, number, option)


def _port(host: str, name: str, number: int, option: str) -> Finding:
    label = f"{name} port"
    try:
        holder = port_holder(host, number)
    except OSError as error:
        return warn(label, f"{number}: {(error.strerror or str(error)).lower()}", f"choose another with {option}")
    if holder is None:
        return ok(label, f"{number} is free")
    if holder.speaks_kafka:
        return ok(label, f"{number}: {holder} answers")
    return warn(label, f"{number} is taken by {holder}", f"choose another with {option}, or stop that program")


def check_data(data: Path) -> Iterator[Finding]:
    if not data.exists():
        yield ok("data", f"{data} does not exist yet; `headrace up` makes it")
        return
    try:
        require_data_root(data)
    except Failure as failure:
        yield fail("data", failure.cause, failure.fix)
        return
    for number in broker_ids(data):
        yield _broker_directory(data / f"broker-{number}", number)
    if not broker_ids(data):
        yield ok("data", f"{data} is empty")


def _broker_directory(directory: Path, number: int) -> Finding:
    name = f"broker {number}"
    segments = list(directory.rglob("*.log"))
    held = f"{size_text(sum(path.stat().st_size for path in segments))} in {count_of(len(segments), 'segment')}"
    pid = _running_pid(directory / "pid")
    if pid is not None:
        return ok(name, f"runs as pid {pid}, {held}")
    return ok(name, f"not running, {held}")


def _running_pid(path: Path) -> int | None:
    try:
        pid = int(path.read_text())
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    return pid


def check_brokers(bootstrap: str) -> Iterator[Finding]:
    from headrace.admin.survey import survey
    from headrace.cli.connection import with_admin

    try:
        seen = with_admin(bootstrap, survey)
    except Failure as failure:
        yield warn("brokers", failure.cause, failure.fix)
        return
    partitions = seen.partitions.values()
    topics = {partition.id.topic for partition in partitions}
    yield ok("brokers", f"{count_of(len(seen.live), 'broker')} at {bootstrap}, {count_of(len(topics), 'topic')}")
    offline = [str(partition.id) for partition in partitions if partition.leader is None]
    behind = [str(partition.id) for partition in partitions if partition.is_under_replicated]
    if offline:
        yield fail(
            "partitions", f"{len(offline)} without a leader: {_some(offline)}", "start the brokers that hold them"
        )
    elif behind:
        yield warn(
            "partitions", f"{len(behind)} lack in-sync replicas: {_some(behind)}", "start the brokers that are down"
        )
    else:
        yield ok("partitions", f"{count_of(len(partitions), 'partition')}, each with a leader and all replicas in sync")


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
