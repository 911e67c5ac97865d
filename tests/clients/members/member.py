"""A member of a consumer group, in its own process, asked line by line. It reads only while it is polled, and hears of a
rebalance soon: it sends a heartbeat every 200 ms.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple, Self

from clients.build import franz_go
from clients.line_driver import java_command
from clients.line_program import LineProgram

TESTS = Path(__file__).resolve().parents[2]
PYTHON_LIBRARIES = ("confluent-kafka", "kafka-python", "aiokafka")
LIBRARIES = (*PYTHON_LIBRARIES, "java", "franz-go")
NEXT_LIBRARIES = ("confluent-kafka", "java", "franz-go")
ASSIGNORS = {
    "confluent-kafka": ("range", "roundrobin", "cooperative-sticky"),
    "kafka-python": ("range", "roundrobin", "cooperative-sticky"),
    "aiokafka": ("range", "roundrobin", "sticky"),
    "java": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "franz-go": ("range", "roundrobin", "sticky", "cooperative-sticky"),
}
POLL_MS = 200


class Read(NamedTuple):
    partition: int
    offset: int


class Polled(NamedTuple):
    assigned: frozenset[int]
    records: list[Read]
    generation: int | None
    """Only from a library that tells it."""


class Committed(NamedTuple):
    offset: int
    metadata: str


class Member:
    """`with Member(…) as member:`; whoever has not left by then is killed."""

    def __init__(
        self,
        library: str,
        bootstrap: str,
        group: str,
        topic: str,
        *,
        assignor: str = "range",
        instance_id: str | None = None,
        session_ms: int = 10_000,
        auto_commit: bool = False,
        protocol: str = "classic",
    ) -> None:
        """`protocol` "consumer" is KIP-848, for the libraries of `NEXT_LIBRARIES`; the broker sets its sessions."""
        self.library = library
        self.assigned: frozenset[int] = frozenset()
        self.reads: list[Read] = []
        self._program = LineProgram(library, [*_command(library), bootstrap])
        self._settings = {
            "group": group,
            "topic": topic,
            "assignor": assignor,
            "instance_id": instance_id,
            "session_ms": session_ms,
            "auto_commit": auto_commit,
        }
        if protocol != "classic":
            self._settings["protocol"] = protocol

    def join(self) -> Self:
        self._program.ask("join", **self._settings)
        return self

    def poll(self, wait_ms: int = POLL_MS) -> Polled:
        answer = self._program.ask("poll", wait_ms=wait_ms)
        polled = Polled(
            frozenset(answer["assigned"]), [Read(*each) for each in answer["records"]], answer.get("generation")
        )
        self.assigned = polled.assigned
        self.reads += polled.records
        return polled

    def commit(self, metadata: str = "") -> dict[int, int]:
        """Everything polled so far of what is assigned; which offsets that was. Returns when the broker has agreed."""
        answer = self._program.ask("commit", metadata=metadata)
        return {int(partition): offset for partition, offset in answer.items()}

    def committed(self, partition: int) -> Committed | None:
        answer = self._program.ask("committed", partition=partition)
        return None if answer is None else Committed(*answer)

    def seek(self, partition: int, offset: int) -> None:
        self._program.ask("seek", partition=partition, offset=offset)

    def leave(self) -> None:
        """As a program that ends well does: the library's own close."""
        self._program.ask("leave")
        self.assigned = frozenset()

    def kill(self) -> None:
        self._program.close()
        self.assigned = frozenset()

    def __enter__(self) -> Self:
        return self.join()

    def __exit__(self, *_: Any) -> None:
        self.kill()


def _command(library: str) -> list[str]:
    if library == "java":
        return java_command("Member")
    if library == "franz-go":
        return [str(franz_go()), "member"]
    return ["env", f"PYTHONPATH={TESTS}", sys.executable, "-W", "ignore", "-m", "clients.members", library]
