"""This broker's view of its cluster, and of itself in it: most parts of a broker need no more.

    the store ─▶ `Metadata`, `Membership` ─▶ `Broker` ─▶ on_image, on_leases: settings, who is alive

It knows nothing of partitions, connections or disks, and tells nobody of news: `Broker` does.
"""

from collections.abc import Collection, Mapping

from headrace.base.clock import Clock
from headrace.broker.membership.metadata import Metadata
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import Broker as Registration
from headrace.cluster.image import Image
from headrace.cluster.registration import listed_brokers
from headrace.cluster.room import reluctant_leaders


class View:
    def __init__(self, broker_id: int, metadata: Metadata, config: BrokerConfig, clock: Clock) -> None:
        self.id = broker_id
        self.metadata = metadata
        self.config = config
        self.clock = clock
        self.epoch = -1
        """The epoch of our lease; -1 until there is one."""
        self.live: Mapping[int, int] = {}
        """Broker id → epoch of every registered broker whose lease has not run out."""
        self._leases: Mapping[int, int] = {}

    @property
    def image(self) -> Image:
        return self.metadata.image

    def on_image(self) -> None:
        mine, everyone = self.image.overrides_of(self.id), self.image.overrides_of(None)
        if mine != self.config.dynamic or everyone != self.config.dynamic_default:
            self.config = self.config.with_dynamic(mine, everyone)
        self._find_live()

    def on_leases(self, leases: Mapping[int, int]) -> None:
        """Broker id → epoch of every broker whose lease has not run out."""
        self._leases = leases
        self._find_live()

    def on_joined(self) -> None:
        self.on_leases({**self._leases, self.id: self.epoch})

    def _find_live(self) -> None:
        registered = self.image.brokers
        self.live = {
            broker_id: epoch
            for broker_id, epoch in self._leases.items()
            if broker_id in registered and registered[broker_id].epoch == epoch
        }

    @property
    def controller_id(self) -> int:
        """A live broker that takes admin requests. All do, so the one that was asked will do until there is one."""
        claim = self.image.controller
        return claim.broker_id if claim is not None and claim.broker_id in self.live else self.id

    @property
    def reluctant(self) -> Collection[int]:
        """Brokers that lead only where nobody else can."""
        return reluctant_leaders(self.image.brokers, self.live)

    @property
    def leaving(self) -> Collection[int]:
        return [broker_id for broker_id in self.live if self.image.brokers[broker_id].leaving]

    def listed_brokers(self) -> list[Registration]:
        """The brokers that clients are told of."""
        return listed_brokers(self.image.brokers, self.live)
