"""The hosting of partitions put together: who takes in an image, who opens, who writes down, and what the cluster is told.

image ─▶ reconciliation: states and closings, at once; what is to be opened is noted ─▶ openings, beside it ─▶ partitions
"""

from collections.abc import Callable

from headrace.base.clock import Clock
from headrace.base.ids import TopicPartition
from headrace.broker.checkpoints import Checkpoints
from headrace.broker.disk.watch import DiskWatch
from headrace.broker.hosting.doubts import CopyDoubts
from headrace.broker.hosting.log_files import LogFiles
from headrace.broker.hosting.opener import LifeBefore, Opener
from headrace.broker.hosting.openings import Openings
from headrace.broker.hosting.reconciliation import Reconciliation
from headrace.broker.hosting.topic_settings import TopicSettings
from headrace.broker.partitions import Partitions
from headrace.cluster.image import Image
from headrace.partition.partition import Partition
from headrace.partition.ready import Ready
from headrace.partition.role import checkpoint_name


class Hosting:
    def __init__(
        self,
        broker_id: int,
        files: LogFiles,
        checkpoints: Checkpoints,
        ready: Ready[Partition],
        clock: Clock,
        watch: DiskWatch,
        before: LifeBefore,
        on_opened: Callable[[list[Partition]], None],
    ) -> None:
        self.partitions = Partitions(broker_id, files.directories.path)
        self.checkpoints = checkpoints
        self.doubts = CopyDoubts(self.partitions, checkpoints)
        settings = TopicSettings()
        opener = Opener(broker_id, files, checkpoints, self.doubts, clock, ready, before)
        self.openings = Openings(self.partitions, opener, settings, checkpoints, self.doubts, watch, clock, on_opened)
        self.reconciliation = Reconciliation(self.partitions, self.openings, settings, opener.discard, clock)
        self._files = files

    def set_strays_aside(self, image: Image) -> None:
        """Renames unknown directories to `.stray`, once, at start, and forgets what was written down of them."""
        ours = {
            TopicPartition(topic.name, index): checkpoint_name(topic.id, index)
            for topic in image.topics.values()
            for index, state in enumerate(topic.partitions)
            if not state.replicas or self.partitions.is_ours(state)
        }
        for forgotten in self.checkpoints.names - set(ours.values()):
            self.checkpoints.forget(forgotten)
        self._files.directories.set_strays_aside(ours)
