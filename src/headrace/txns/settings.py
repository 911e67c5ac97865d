"""The broker settings of transactions, under Kafka's names."""

from typing import NamedTuple


class TxnSettings(NamedTuple):
    transaction_max_timeout_ms: int = 15 * 60_000
    transactional_id_expiration_ms: int = 7 * 24 * 60 * 60_000
