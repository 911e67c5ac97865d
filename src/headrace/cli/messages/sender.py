"""Sends messages through librdkafka and keeps the account: how many are in, how many are not, and why.

Every message read is either delivered or counted as failed: the two always add up. librdkafka calls back for failures
only, so a large file costs no Python per delivery.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from headrace.base.units import size_text
from headrace.cli.failure import ExitCode, Failure, show_failure
from headrace.cli.messages.librdkafka import client_config, client_failure
from headrace.cli.messages.source import InputMessage, input_size
from headrace.cli.output import console, count_of, remark, show_json
from headrace.cli.reachable import require_reachable

DELIVERY_MS = 30_000
POLL_EVERY = 1000
# Calls made again when they meet the news of a fatal error.
STRANGE_MAX = 100


class MessageSender:
    def __init__(self, bootstrap: str, topic: str, acks: str, compression: str) -> None:
        require_reachable(bootstrap)
        self.topic = topic
        self.queued = 0
        self.value_bytes = 0
        self.failures: Counter[int] = Counter()
        self.samples: dict[int, KafkaError] = {}
        self.interrupted = False
        self.fatal: KafkaError | None = None
        self.started = time.monotonic()
        self.producer = Producer(_config(bootstrap, acks, compression))

    @property
    def failed(self) -> int:
        return self.failures.total()

    @property
    def sent(self) -> int:
        return self.queued - self.failed

    def send_all(self, messages: Iterable[InputMessage], paths: list[Path], quiet: bool) -> None:
        try:
            with _progress(paths, quiet) as advance:
                for message in messages:
                    self._send(message)
                    advance(message.input_bytes + 1)
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            # Also when the input is bad in the middle: what was read before it is delivered and counted.
            self._served(self.producer.flush)

    def report(self, as_json: bool) -> None:
        if self.fatal is not None:
            # Callbacks were lost, so nobody knows how many are in.
            raise client_failure(self.fatal, f"not all of {count_of(self.queued, 'message')} delivered", self.topic)
        seconds = max(time.monotonic() - self.started, 1e-9)
        if as_json:
            account = {
                "sent": self.sent,
                "failed": self.failed,
                "bytes": self.value_bytes,
                "seconds": round(seconds, 3),
            }
            show_json({"topic": self.topic, **account})
        else:
            amount = f"{count_of(self.sent, 'message')} ({size_text(self.value_bytes)})"
            rate = f"{self.sent / seconds:,.0f}/s, {size_text(self.value_bytes / seconds)}/s"
            remark(f"sent {amount} to {self.topic} in {seconds:.1f} s ({rate})")
        if self.failures:
            raise self._failure(as_json)
        if self.interrupted:
            raise KeyboardInterrupt

    def _send(self, message: InputMessage) -> None:
        extra: dict[str, Any] = {}
        if message.partition is not None:
            extra["partition"] = message.partition
        if message.timestamp is not None:
            extra["timestamp"] = message.timestamp
        self.queued += 1
        self.value_bytes += len(message.value or b"")
        while True:
            try:
                self.producer.produce(
                    self.topic,
                    message.value,
                    message.key,
                    headers=message.headers,
                    on_delivery=self._on_failed,
                    **extra,
                )
                break
            except BufferError:
                self._served(lambda: self.producer.poll(0.1))
            except KafkaException as error:
                self._count(error.args[0], len(message.value or b""))
                break
        if self.queued % POLL_EVERY == 0:
            self._served(lambda: self.producer.poll(0))

    def _served(self, call: Callable[[], int]) -> None:
        """Calls what serves librdkafka's events. A fatal error comes as an exception of whichever call serves it first, and
        a callback that meets it there is lost; so the call is made again."""
        for _ in range(STRANGE_MAX):
            try:
                call()
                return
            except (KafkaException, SystemError) as news:
                error = news if isinstance(news, KafkaException) else news.__cause__
                if not isinstance(error, KafkaException) or not error.args[0].fatal():
                    raise
                self.fatal = self.fatal or error.args[0]
                # Nothing of the rest will be sent, and would be waited for until its time is over.
                self.producer.purge()

    def _on_failed(self, error: KafkaError | None, message: Any) -> None:
        if error is not None:
            self._count(error, len(message))

    def _count(self, error: KafkaError, value_bytes: int) -> None:
        self.value_bytes -= value_bytes
        self.failures[error.code()] += 1
        self.samples.setdefault(error.code(), error)

    def _failure(self, as_json: bool) -> Failure:
        """The most frequent reason is the command's own; any others are shown before it."""
        (worst, _), *others = self.failures.most_common()
        for code, number in others:
            other = client_failure(self.samples[code], f"{count_of(number, 'message')} not delivered", self.topic)
            show_failure(other.cause, other.fix, as_json)
        what = f"{count_of(self.failures[worst], 'message')} not delivered"
        failure = client_failure(self.samples[worst], what, self.topic)
        failure.code = ExitCode.FAILED if self.sent else failure.code
        return failure


def _config(bootstrap: str, acks: str, compression: str) -> dict[str, Any]:
    return {
        **client_config(bootstrap),
        "acks": acks,
        # Retries can neither repeat nor reorder; the protocol offers that only where every in-sync replica answers.
        "enable.idempotence": acks == "all",
        "compression.type": compression,
        # The Java clients' way, so that a key finds the same partition whoever sends it.
        "partitioner": "murmur2_random",
        "message.max.bytes": 1_000_000_000,
        "message.timeout.ms": DELIVERY_MS,
        "topic.metadata.propagation.max.ms": 5_000,
        "delivery.report.only.error": True,
        "linger.ms": 5,
        "batch.size": 1_000_000,
    }


def _progress(paths: list[Path], quiet: bool) -> AbstractContextManager[Any]:
    screen = console(stderr=True)
    if quiet or not paths or not screen.is_terminal:
        return nullcontext(lambda _: None)
    return _FileProgress(screen, input_size(paths))


class _FileProgress:
    def __init__(self, screen: Any, total: int) -> None:
        from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

        self.progress = Progress(
            BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(), console=screen, transient=True
        )
        self.task = self.progress.add_task("send", total=total)

    def __enter__(self) -> Any:
        self.progress.start()
        return lambda count: self.progress.advance(self.task, count)

    def __exit__(self, *_: object) -> None:
        self.progress.stop()
