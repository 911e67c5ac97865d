"""The broker settings of groups, under Kafka's names."""

from typing import NamedTuple

MINUTE_MS = 60_000


class GroupSettings(NamedTuple):
    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 30 * MINUTE_MS
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = 2**31 - 1
    offset_metadata_max_bytes: int = 4096
    offsets_retention_ms: int = 7 * 24 * 60 * MINUTE_MS
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    consumer_session_timeout_ms: int = 45_000
    consumer_heartbeat_interval_ms: int = 5_000
    consumer_assignment_interval_ms: int = 1_000
    consumer_max_size: int = 2**31 - 1
    consumer_migration_policy: str = "bidirectional"

    @property
    def may_upgrade(self) -> bool:
        return self.consumer_migration_policy in ("upgrade", "bidirectional")

    @property
    def may_downgrade(self) -> bool:
        return self.consumer_migration_policy in ("downgrade", "bidirectional")
