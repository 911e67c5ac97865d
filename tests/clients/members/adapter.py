"""What the program asks of a library. Positions are kept here: what was handed out, not what the library fetched."""

from typing import Any, Protocol


class Adapter(Protocol):
    def join(
        self, group: str, topic: str, assignor: str, instance_id: str | None, session_ms: int, auto_commit: bool
    ) -> None: ...

    def poll(self, wait_ms: int) -> dict[str, Any]:
        """{"assigned": [partition, …], "records": [[partition, offset], …]}"""
        ...

    def commit(self, metadata: str) -> dict[int, int]: ...

    def committed(self, partition: int) -> tuple[int, str] | None: ...

    def seek(self, partition: int, offset: int) -> None: ...

    def leave(self) -> None: ...


class Positions(dict[int, int]):
    """The next offset of each partition that is ours."""

    def keep(self, assigned: set[int]) -> None:
        for partition in set(self) - assigned:
            del self[partition]

    def advance(self, records: list[tuple[int, int]]) -> None:
        for partition, offset in records:
            self[partition] = offset + 1
