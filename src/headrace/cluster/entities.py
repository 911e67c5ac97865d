"""The entities of the cluster's metadata. All immutable; `revision` is that of the commit that last wrote each."""

from collections.abc import Mapping
from typing import Final, NamedTuple

NO_LEADER: Final = -1

PLAINTEXT: Final = "PLAINTEXT"
"""The listener, and the protocol, of a broker for which nothing else was set."""

FENCED: Final = -1
"""The epoch of a registration between two lives of a broker. No lease and no fetch carries it."""

INTERNAL_TOPICS: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


class Cluster(NamedTuple):
    id: str
    revision: int = 0


class ControllerClaim(NamedTuple):
    """The controller's claim, written at every take-over: a commit of the one before expects its own, and conflicts."""

    broker_id: int
    epoch: int
    revision: int = 0


class BrokerEndpoint(NamedTuple):
    """The address that clients of one of a broker's listeners connect to."""

    listener: str
    host: str
    port: int
    protocol: str = PLAINTEXT


class Broker(NamedTuple):
    """A registration. Its existence does not mean the broker is alive: its lease says that."""

    id: int
    epoch: int
    """Higher at every registration; whoever carries an older one is a ghost."""
    host: str
    port: int
    rack: str | None = None
    metrics_port: int | None = None
    boot_id: str = ""
    """The boot id of its kernel: another one means that the page cache is gone."""
    directory_id: str = ""
    """The id of its data directory: tells a restart from a second broker with the same number."""
    leaving: bool = False
    """Whether the broker is shutting down: it leads nothing new."""
    registered_at: int = 0
    """The time by its own wall clock, in ms: only to notice clocks that are far apart."""
    is_full: bool = False
    """Whether its disk has no room for clients' writes: it leads only where no other in-sync replica has room."""
    disk_id: str = ""
    """The file system of its data: brokers with the same one run out of room together."""
    endpoints: tuple[BrokerEndpoint, ...] = ()
    """The addresses of its listeners, unless there is only the one named PLAINTEXT. Other brokers use `host` and `port`."""
    revision: int = 0

    def endpoint(self, listener: str) -> BrokerEndpoint | None:
        """The address for who came in on, or calls from, a listener of this name; None if the broker has no such."""
        if not self.endpoints:
            return BrokerEndpoint(PLAINTEXT, self.host, self.port) if listener == PLAINTEXT else None
        return next((each for each in self.endpoints if each.listener == listener), None)


class PartitionState(NamedTuple):
    replicas: tuple[int, ...]
    """The first is the preferred leader."""
    isr: tuple[int, ...]
    leader: int = NO_LEADER
    leader_epoch: int = 0
    partition_epoch: int = 0
    elr: tuple[int, ...] = ()
    """Replicas out of sync with every committed record: they left when too few were left to commit another."""
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    damaged: tuple[int, ...] = ()
    """The last in-sync replica, when its log is damaged: it stays in the ISR and leads only if someone insists."""
    revision: int = 0


MISSING_PARTITION: Final = PartitionState((), (), NO_LEADER, -1, -1)
"""Stands where a topic counts a partition that the store does not have: offline, and visible as such."""


class Topic(NamedTuple):
    name: str
    id: bytes
    partitions: tuple[PartitionState, ...]
    config: Mapping[str, str]
    internal: bool
    revision: int

    @property
    def replication_factor(self) -> int:
        return len(self.partitions[0].replicas) if self.partitions else 0


class BrokerOverrides(NamedTuple):
    """The dynamic settings of one broker, or of all."""

    config: Mapping[str, str]
    revision: int = 0


class ProducerIds(NamedTuple):
    next_id: int = 0
    """The first that no block has handed out."""
    revision: int = 0


class Features(NamedTuple):
    levels: Mapping[str, int]
    revision: int = 0


class ScramCredential(NamedTuple):
    """A proof of a password that is not the password, of one user in one SCRAM mechanism (RFC 5802)."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return "ScramCredential(***)"


class User(NamedTuple):
    """A user with a password: what it proves the password by, in each mechanism."""

    credentials: Mapping[str, ScramCredential]
    revision: int = 0


class Token(NamedTuple):
    """A delegation token: whoever has it may log in as its owner until it expires. What it is proven by is not kept."""

    id: str
    owner: str
    requester: str
    """The principal that asked for it, for itself or for the owner."""
    renewers: tuple[str, ...]
    issued_ms: int
    expires_ms: int
    max_ms: int
    """No renewal moves the expiry beyond this."""
    fingerprint: str
    """Finds the token by the key that only its holders know."""
    revoked: tuple[str, ...] = ()
    """The fingerprints of tokens narrowed from it that are revoked."""
    revision: int = 0


class Secret(NamedTuple):
    """Random bytes that all brokers of the cluster share, and that nobody else learns."""

    value: bytes
    revision: int = 0

    def __repr__(self) -> str:
        return "Secret(***)"


class Acl(NamedTuple):
    """A rule: one principal (or `User:*`), from a host (or `*`), may or may not do one operation on what a pattern names.

    Numbers are Kafka's; their meaning is known to `security`.
    """

    resource_type: int
    name: str
    """A name, the beginning of names, or `*` for all, as the pattern type says."""
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int
    revision: int = 0
