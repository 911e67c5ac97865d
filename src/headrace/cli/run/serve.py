"""`headrace serve`: one broker in the foreground.

Until the node serves, a signal ends the process at once: there is nothing to hand over, and recovery may be repeated.
From then on the first SIGTERM or SIGINT, or the end of the parent, stops it cleanly, and a second signal at once.
"""

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from headrace.base.errors import UserError
from headrace.broker.node import Node
from headrace.cli.failure import ExitCode, show_failure
from headrace.cli.run.compose import start_node
from headrace.cli.run.logs import configure_logs
from headrace.cli.run.new_options import NewOptions, ParentPipe
from headrace.cli.run.preflight import descriptor_remarks
from headrace.cli.run.reload import change, reload_on_sighup
from headrace.cli.run.serve_options import ServeOptions, parse_arguments
from headrace.cli.run.service_notice import READY, STOPPING, keep_telling, tell_service_manager
from headrace.cli.run.status_line import Failed, ReadyStatus, StatusPipe

logger = logging.getLogger("headrace.serve")


def main(arguments: Sequence[str]) -> int:
    try:
        options = parse_arguments(arguments)
        configure_logs(options.logs, options.id)
    except UserError as error:
        show_failure(error.cause, error.fix, "--json" in arguments)
        return ExitCode.USAGE
    for line in descriptor_remarks():
        logger.warning("%(remark)s", {"remark": line})
    status = StatusPipe(options.ready_fd)
    try:
        run_to_end(options, status, lambda: parse_arguments(arguments))
        return ExitCode.OK
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except UserError as error:
        return _give_up(status, Failed(error.cause, error.fix), options)
    except Exception as error:
        logger.critical("the broker stopped: %(cause)s", {"cause": error}, exc_info=error)
        return _give_up(status, Failed(f"{type(error).__name__}: {error}", "the log shows where"), options)


def run_to_end(options: ServeOptions, status: StatusPipe, read_again: Callable[[], ServeOptions] | None = None) -> None:
    """`read_again` is for a configuration file that has changed."""
    with asyncio.Runner(loop_factory=event_loop) as runner:
        runner.run(_serve(options, status, read_again))


def event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


async def _serve(options: ServeOptions, status: StatusPipe, read_again: Callable[[], ServeOptions] | None) -> None:
    with _collector_at_rest():
        node = await start_node(options)
    # A thread that comes back from a sync waits for the loop to let go of the interpreter; by default up to 5 ms.
    sys.setswitchinterval(0.0005)
    stop = asyncio.Event()
    _stop_on_signals(stop)
    if options.parent_fd >= 0:
        _follow_parent(ParentPipe(options.parent_fd), stop, node)
    if options.config and read_again is not None:
        reload_on_sighup(node, read_again)
    status.tell(ReadyStatus(options.id, options.host, node.port, node.metrics_port or 0, os.getpid()))
    tell_service_manager(READY)
    beside = [asyncio.create_task(_stop_when(stop, node)), asyncio.create_task(keep_telling())]
    try:
        await node.until_stopped()
    finally:
        for task in beside:
            task.cancel()


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Switches the garbage collector off; objects made meanwhile are never walked, since each walk would stop the loop.

    With a hundred thousand partitions one walk takes longer than a lease, so there is none, not even the first.
    """
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 50, 100)
        gc.enable()


async def _stop_when(stop: asyncio.Event, node: Node) -> None:
    await stop.wait()
    tell_service_manager(STOPPING)
    await node.stop()


def _stop_on_signals(stop: asyncio.Event) -> None:
    def on_signal(number: int) -> None:
        if stop.is_set():
            os._exit(128 + number)
        logger.info("stopping on %(signal)s; once more stops at once", {"signal": signal.Signals(number).name})
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, on_signal, number)


def _follow_parent(pipe: ParentPipe, stop: asyncio.Event, node: Node) -> None:
    """Stops the broker when the parent's pipe ends; lines that come before are new settings."""
    loop = asyncio.get_running_loop()
    running: set[asyncio.Task[None]] = set()

    def on_told(options: NewOptions) -> None:
        task = loop.create_task(change(node, options, "headrace up"))
        running.add(task)
        task.add_done_callback(running.discard)

    def on_parent() -> None:
        if (told := pipe.read()) is not None:
            for options in told:
                on_told(options)
            return
        loop.remove_reader(pipe.fd)
        logger.warning("the process that started this broker is gone: stopping")
        stop.set()

    loop.add_reader(pipe.fd, on_parent)


def _give_up(status: StatusPipe, failed: Failed, options: ServeOptions) -> int:
    """Tells the failure to the holder of the status pipe, which shows it to the person; without one, shows it here."""
    status.tell(failed)
    if options.ready_fd < 0:
        show_failure(failed.error, failed.fix, options.log_format == "json")
    return ExitCode.FAILED
