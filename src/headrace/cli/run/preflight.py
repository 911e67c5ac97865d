"""Checks of `up` before it starts anything: ports, data root, disk space, descriptors. One cause and one fix each.

Who holds a broker's own directory, and whether its format and cluster fit, the broker itself checks under its lock: two
checks of the same thing would drift apart.
"""

import os
import resource
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from headrace.base.errors import UserError
from headrace.base.private_files import make_directory
from headrace.base.units import size_text
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.run.ports import free_port, is_free, port_holder

# Below the first a broker refuses users' writes (so do we say); below the second it cannot even keep its own books.
NEARLY_FULL_BYTES, NEARLY_FULL_SHARE = 1 << 30, 0.02
FULL_BYTES = 64 << 20
DESCRIPTORS_WANTED = 4096
HTTP_PORT = 8080


def require_port(host: str, port: int, option: str = "--port") -> None:
    try:
        holder = port_holder(host, port)
    except OverflowError:
        raise Failure(f"there is no port {port}", f"choose one from 1 to 65535 with {option}", ExitCode.USAGE) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Failure(f"cannot listen on {host}:{port}: {reason}", f"choose another with {option} or --host") from None
    if holder is None:
        return
    stop_it = f", or stop it: kill {holder.pid}" if holder.pid else ""
    raise Failure(f"port {port} is taken by {holder}", f"choose another with {option}{stop_it}")


def metrics_port(host: str, wanted: int) -> int:
    """Metrics are no reason not to start: a second cluster on one machine serves them on a free port, and says so."""
    try:
        return wanted if is_free(host, wanted) else free_port(host)
    except (OSError, OverflowError):
        return free_port(host)


def has_gateway(remarks: list[str]) -> bool:
    """Whether the extra is installed that the gateway needs."""
    if find_spec("fastapi") and find_spec("uvicorn"):
        return True
    remarks.append("no gateway: install it with `pip install 'headrace[gateway]'`, or say --no-gateway")
    return False


def http_port(host: str, wanted: int | None, remarks: list[str]) -> int:
    """One that was asked for must be free. The default may be taken, by another cluster's gateway for one."""
    if wanted is not None:
        require_port(host, wanted, "--http-port")
        return wanted
    if is_free(host, HTTP_PORT):
        return HTTP_PORT
    port = free_port(host)
    remarks.append(f"port {HTTP_PORT} is taken: the gateway is on {port} (--http-port chooses another)")
    return port


def require_data_root(data: Path) -> None:
    if data.exists() and not data.is_dir():
        raise Failure(f"{data} is a file", "name a directory with --data")
    try:
        make_directory(data)
        names = sorted(entry.name for entry in data.iterdir())
    except OSError as error:
        raise Failure(
            f"{data}: {(error.strerror or str(error)).lower()}", "name a directory you may write to with --data"
        ) from None
    if not os.access(data, os.W_OK | os.X_OK):
        raise Failure(
            f"{data} may not be written by you",
            f"chown or chmod it, or name another with --data (you are uid {os.getuid()})",
        )
    if names and not broker_ids(data) and "meta" not in names:
        shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        raise Failure(
            f"{data} is no data directory of Headrace: it holds {shown}", "name a new or empty directory with --data"
        )


def require_settings(settings: dict[str, str]) -> None:
    from headrace.cluster.broker_config import BrokerConfig

    try:
        BrokerConfig(settings)
    except UserError as error:
        raise Failure(error.cause, error.fix or "docs/configuration.md lists them all", ExitCode.USAGE) from None


def broker_ids(data: Path) -> list[int]:
    found = (entry.name.removeprefix("broker-") for entry in data.glob("broker-*"))
    return sorted(int(number) for number in found if number.isdecimal())


def disk_remarks(data: Path) -> Iterator[str]:
    usage = shutil.disk_usage(data)
    floor = max(NEARLY_FULL_BYTES, int(usage.total * NEARLY_FULL_SHARE))
    if usage.free < FULL_BYTES:
        raise Failure(
            f"the disk of {data} is full: {size_text(usage.free)} free",
            "free some space, or name a directory on another disk with --data",
        )
    if usage.free < floor:
        free = size_text(usage.free)
        yield f"the disk of {data} is nearly full ({free} free): brokers refuse writes below {size_text(floor)}"


def descriptor_remarks() -> Iterator[str]:
    """Raises the soft limit to the hard one; the brokers inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
        except (OSError, ValueError):
            pass
    if soft != resource.RLIM_INFINITY and soft < DESCRIPTORS_WANTED:
        yield f"only {soft} file descriptors per process (ulimit -n); {DESCRIPTORS_WANTED} or more are wanted"
