"""What the handlers of one broker work with: the image, the partitions, the clock, and the few rules they share.

Holds, does not run: `node` builds it, starts it and stops it.
"""

import asyncio
import random
from collections.abc import Collection

from headrace.base.clock import Clock
from headrace.base.disk import Disk
from headrace.base.errors import Refused
from headrace.base.probe import Probes
from headrace.broker.deadlines import Deadlines
from headrace.broker.dispatch import Dispatch
from headrace.broker.handlers import HANDLERS
from headrace.broker.listener import Listener
from headrace.broker.metadata import Metadata
from headrace.broker.partition import Partition
from headrace.broker.partitions import Partitions
from headrace.broker.producer_ids import ProducerIdBlocks
from headrace.broker.sessions import FetchSessions
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.changes import Creation, NewTopic, create_topic
from headrace.cluster.entities import INTERNAL_TOPICS, Topic
from headrace.cluster.image import Image
from headrace.cluster.store import Commit, MetaStore
from headrace.wire.codes import ErrorCode


class Broker:
    listener: Listener
    partitions: Partitions

    def __init__(
        self,
        broker_id: int,
        *,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        disk: Disk,
        store: MetaStore,
        config: BrokerConfig,
        rng: random.Random,
        probes: Probes,
    ) -> None:
        self.id = broker_id
        self.clock = clock
        self.disk = disk
        self.config = config
        self.rng = rng
        self.probes = probes
        self.is_disk_low = False
        self.fetch_bytes_max = config.number("fetch.max.bytes")
        self.deadlines = Deadlines(loop)
        self.metadata = Metadata(store, self._on_image)
        self.producer_ids = ProducerIdBlocks(self.metadata)
        self.sessions = FetchSessions(
            config.number("max.incremental.fetch.session.cache.slots"), lambda: rng.randrange(1, 1 << 31), loop.time
        )
        self.dispatch = Dispatch(self, HANDLERS)

    @property
    def image(self) -> Image:
        return self.metadata.image

    @property
    def controller_id(self) -> int:
        """A live broker that takes admin requests. All do, so the one that was asked is as good as any."""
        return self.id

    async def _on_image(self, image: Image) -> None:
        mine, everyone = image.overrides_of(self.id), image.overrides_of(None)
        if mine != self.config.dynamic or everyone != self.config.dynamic_default:
            self.config = self.config.with_dynamic(mine, everyone)
            self.fetch_bytes_max = self.config.number("fetch.max.bytes")
        await self.partitions.reconcile(image, self.config)

    @property
    def live(self) -> Collection[int]:
        """Brokers that may be given new partitions."""
        return self.image.brokers.keys()

    async def create_topic(self, new: NewTopic, validate_only: bool = False) -> Topic:
        """The topic as it was created. Its id is new every time, also when a conflict makes it try again."""
        creation: Creation | None = None

        def plan(image: Image) -> list[Commit]:
            nonlocal creation
            creation = create_topic(image, self.live, new, self.rng.randbytes(16), self.config)
            return creation.commits

        await self.metadata.change(plan, validate_only)
        assert creation is not None
        return creation.topic

    def check_may_write(self, partition: Partition) -> None:
        if partition.is_internal:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{partition.id.topic} is written by brokers only")
        if self.is_disk_low:
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, "the disk is nearly full; free space or lower retention")

    def check_may_delete(self, topic: str) -> None:
        if topic in INTERNAL_TOPICS:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is kept by brokers only")
