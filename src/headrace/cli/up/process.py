"""`headrace kill`, `stop` and `start`: one broker of a running `headrace up`, to see what the others make of it."""

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, UnusedBootstrap

BROKER_STOP_SECONDS_MAX = 60.0
PROCESS_LOOK_SECONDS = 0.05

BrokerId = Annotated[int, typer.Argument(metavar="BROKER", min=1, show_default=False)]
Data = Annotated[Path, typer.Option(help="The data directory of that `headrace up`.")]


def kill(
    broker: BrokerId,
    data: Data = Path("data"),
    bootstrap: UnusedBootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Kill a broker of `headrace up` as a crash would (kill -9); `headrace start` brings it back."""
    _report(broker, _end(data, broker, signal.SIGKILL), "killed", as_json)


def stop(
    broker: BrokerId,
    data: Data = Path("data"),
    bootstrap: UnusedBootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Stop a broker of `headrace up` cleanly: its leaders move away first."""
    _report(broker, _end(data, broker, signal.SIGTERM), "stopped", as_json)


def start(
    broker: BrokerId,
    data: Data = Path("data"),
    bootstrap: UnusedBootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Start a broker of `headrace up` that was killed or stopped, or one more."""
    from headrace.cli.output import show_json
    from headrace.cli.up.control import ask_to_start

    _check_data(data)
    started = ask_to_start(data, broker)
    if as_json:
        show_json(started)
    else:
        print(f"broker {broker} serves on {started['host']}:{started['port']} (pid {started['pid']})")


def _end(data: Path, broker: int, number: signal.Signals) -> int:
    """Returns when the process is gone."""
    _check_data(data)
    pid = _pid_of(data, broker)
    end = _end_by_handle if hasattr(os, "pidfd_open") else _end_by_number
    try:
        is_gone = end(pid, number, lambda: _check_is_broker(pid, data, broker))
    except OSError:
        raise _not_running(data, broker) from None
    if not is_gone:
        raise Failure(f"broker {broker} (pid {pid}) has not ended yet", f"headrace kill {broker} --data {data}")
    return pid


def _end_by_handle(pid: int, number: signal.Signals, check: Callable[[], None]) -> bool:
    """Whether it ended in time. The handle stands for one process, whoever gets its number later."""
    process = os.pidfd_open(pid)
    try:
        check()
        signal.pidfd_send_signal(process, number)
        return bool(select.select([process], [], [], BROKER_STOP_SECONDS_MAX)[0])
    finally:
        os.close(process)


def _end_by_number(pid: int, number: signal.Signals, check: Callable[[], None]) -> bool:
    """Ends a process by its number, on systems without handles of processes (macOS)."""
    check()
    os.kill(pid, number)
    deadline = time.monotonic() + BROKER_STOP_SECONDS_MAX
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(PROCESS_LOOK_SECONDS)
    return False


def _check_data(data: Path) -> None:
    if not data.is_dir():
        raise Failure(
            f"{data} does not exist", "name the data directory of `headrace up` with --data", ExitCode.NOT_FOUND
        )


def _pid_of(data: Path, broker: int) -> int:
    try:
        return int((data / f"broker-{broker}" / "pid").read_text())
    except (OSError, ValueError):
        raise _not_running(data, broker) from None


def _check_is_broker(pid: int, data: Path, broker: int) -> None:
    """A pid file that outlived its process may name somebody else's by now."""
    if "headrace" not in _command_line(pid):
        raise _not_running(data, broker)


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        asked = subprocess.run(
            ["ps", "-ww", "-o", "command=", "-p", str(pid)],
            capture_output=True,
            text=True,
            timeout=BROKER_STOP_SECONDS_MAX,
            check=False,
        )
        return asked.stdout


def _not_running(data: Path, broker: int) -> Failure:
    return Failure(
        f"broker {broker} of {data} does not run",
        f"`headrace start {broker}` starts it; --data names another directory",
        ExitCode.NOT_FOUND,
    )


def _report(broker: int, pid: int, what: str, as_json: bool) -> None:
    from headrace.cli.output import show_json

    if as_json:
        show_json({"broker": broker, "pid": pid, "status": what})
    else:
        print(f"{what} broker {broker} (pid {pid})")
