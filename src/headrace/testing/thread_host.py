"""A broker in a thread of this process, on an event loop of its own. Same starts and stops as a child, but no kill."""

import asyncio
import os
import threading
from concurrent.futures import Future

from headrace.base.errors import UserError
from headrace.broker.node import Node
from headrace.cli.run.compose import start_node
from headrace.cli.run.serve import event_loop
from headrace.cli.run.serve_options import ServeOptions
from headrace.cli.run.status_line import ReadyStatus


class ThreadHost:
    def __init__(self, options: ServeOptions) -> None:
        self.options = options
        self._thread: threading.Thread | None = None
        self._ready: Future[ReadyStatus] = Future()
        self._ended: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    @property
    def pid(self) -> int:
        return os.getpid()

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        assert not self.running, "already started"
        self._ready, self._ended = Future(), Future()
        self._thread = threading.Thread(target=self._run, name=f"headrace-broker-{self.options.id}", daemon=True)
        self._thread.start()

    def until_ready(self, seconds: float) -> ReadyStatus:
        return self._ready.result(seconds)

    def stop(self) -> None:
        """Raises what made the broker stop by itself, if something did."""
        if self._thread is None:
            return
        if self._loop is not None and self._stop is not None and self.running:
            try:
                self._loop.call_soon_threadsafe(self._stop.set)
            except RuntimeError:
                pass  # the loop has ended by itself meanwhile
        self._thread.join()
        self._thread = None
        if self._ready.exception() is None:
            self._ended.result()

    def kill(self) -> None:
        raise UserError("a broker in this process cannot be killed", "use Broker() without in_process=True")

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=event_loop) as runner:
                runner.run(self._serve())
        except BaseException as error:
            (self._ended if self._ready.done() else self._ready).set_exception(error)
        else:
            self._ended.set_result(None)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        node = await start_node(self.options)
        self._ready.set_result(
            ReadyStatus(self.options.id, self.options.host, self.options.port, self.options.metrics_port, self.pid)
        )
        stopping = asyncio.create_task(self._stop_when_asked(self._stop, node))
        try:
            await node.until_stopped()
        finally:
            stopping.cancel()

    @staticmethod
    async def _stop_when_asked(asked: asyncio.Event, node: Node) -> None:
        await asked.wait()
        await node.stop()
