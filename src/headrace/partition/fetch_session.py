"""Fetch sessions (KIP-227): what a reader follows is remembered, so a fetch costs what changed, not what is followed.

A session keeps an entry for every partition it follows and a *dirty* set of those worth looking at: told so by the
partition when something moved, or by the request that changed the entry. A fetch without a session is a session that
lives for one request. Not here: what a reply contains (`broker.handlers.fetch`).
"""

from collections.abc import Callable
from typing import Protocol

from headrace.base.errors import Refused
from headrace.partition.partition import Partition
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.fetch import FetchPartition, FetchRequest

FINAL_EPOCH = -1
INITIAL_EPOCH = 0
BY_ID_SINCE_FETCH = 13
EVICT_AFTER_SECONDS = 120.0


def replica_id(request: FetchRequest) -> int:
    """The follower that fetches; -1 for a consumer."""
    return request.replica_id if request.replica_state is None else request.replica_state.replica_id


class Parked(Protocol):
    """A fetch that waits for something to happen."""

    def on_change(self, entry: "FetchEntry") -> None: ...

    def finish(self) -> None: ...


class FetchEntry:
    """One partition a reader follows, where it stands, and what it was last told."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "index",
        "known_high_watermark",
        "last_fetched_epoch",
        "max_bytes",
        "partition",
        "sent_high_watermark",
        "sent_start_offset",
        "session",
        "topic",
        "topic_id",
    )

    def __init__(self, session: "FetchSession", topic: str, topic_id: bytes, index: int) -> None:
        self.session = session
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.partition: Partition | None = None
        self.sent_high_watermark = -1
        self.sent_start_offset = -1

    def update(self, wanted: FetchPartition) -> None:
        self.fetch_offset = wanted.fetch_offset
        self.max_bytes = wanted.partition_max_bytes
        self.current_leader_epoch = wanted.current_leader_epoch
        self.last_fetched_epoch = wanted.last_fetched_epoch
        self.known_high_watermark = wanted.high_watermark
        if self.session.is_follower:
            # What it says it knows, not what we said: it drops answers that were asked for in another epoch.
            self.sent_high_watermark = wanted.high_watermark

    def follow(self, partition: Partition | None) -> None:
        """Hear of this partition's changes from now on, and of no other's."""
        if partition is self.partition:
            return
        is_follower = self.session.is_follower
        if self.partition is not None:
            (self.partition.follower_watchers if is_follower else self.partition.watchers).pop(self, None)
        self.partition = partition
        if partition is not None:
            (partition.follower_watchers if is_follower else partition.watchers)[self] = None

    def on_change(self) -> None:
        """The partition moved: worth a look from now on, by the fetch that is parked when this turn ends."""
        session, partition = self.session, self.partition
        session.dirty[self] = None
        if session.parked is not None and partition is not None:
            if session.is_follower:
                partition.ready.wake_copier(self)
            else:
                partition.ready.wake_reader(self)

    def wake(self) -> None:
        if self.session.parked is not None:
            self.session.parked.on_change(self)


class FetchSession:
    __slots__ = ("by_id", "dirty", "entries", "epoch", "id", "is_follower", "last_used", "owner", "parked")

    def __init__(self, by_id: bool, is_follower: bool, owner: str) -> None:
        self.id = 0
        self.owner = owner
        self.is_follower = is_follower
        self.epoch = INITIAL_EPOCH
        self.by_id = by_id
        self.entries: dict[tuple[str | bytes, int], FetchEntry] = {}
        self.dirty: dict[FetchEntry, None] = {}
        self.parked: Parked | None = None
        self.last_used = 0.0

    def update(self, request: FetchRequest) -> None:
        for topic in request.topics:
            key = topic.topic_id if self.by_id else topic.topic
            for wanted in topic.partitions:
                entry = self.entries.get((key, wanted.partition))
                if entry is None:
                    entry = FetchEntry(self, topic.topic, topic.topic_id, wanted.partition)
                    self.entries[key, wanted.partition] = entry
                entry.update(wanted)
                self.dirty[entry] = None
        for forgotten in request.forgotten_topics_data:
            key = forgotten.topic_id if self.by_id else forgotten.topic
            for index in forgotten.partitions:
                self._forget((key, index))

    def _forget(self, key: tuple[str | bytes, int]) -> None:
        entry = self.entries.pop(key, None)
        if entry is not None:
            entry.follow(None)
            self.dirty.pop(entry, None)

    def unfollow_all(self) -> None:
        for entry in self.entries.values():
            entry.follow(None)

    @property
    def is_kept(self) -> bool:
        return self.id != 0


class FetchSessions:
    """The sessions a broker keeps, at most `slots`; who finds no slot is answered without one, as the protocol allows."""

    def __init__(self, slots: int, new_id: Callable[[], int], time: Callable[[], float]) -> None:
        self._slots = slots
        self._new_id = new_id
        self._time = time
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def resolve(self, request: FetchRequest, version: int, owner: str = "") -> FetchSession:
        """The session this request belongs to, brought up to date; raises Refused with 70, 71 or 106. That of another owner
        (a principal, or one of its tokens) is as good as none: its entries are names that this one may not know."""
        by_id = version >= BY_ID_SINCE_FETCH
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if request.session_id:
                self._close(request.session_id, owner)
            session = FetchSession(by_id, replica_id(request) >= 0, owner)
            if request.session_epoch == INITIAL_EPOCH and request.topics:
                self._keep(session)
        else:
            session = self._find(request, by_id, owner)
        session.update(request)
        return session

    def _find(self, request: FetchRequest, by_id: bool, owner: str) -> FetchSession:
        session = self._sessions.get(request.session_id)
        if session is None or session.owner != owner:
            raise Refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if request.session_epoch != session.epoch:
            raise Refused(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if by_id != session.by_id:
            raise Refused(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        if session.parked is not None:
            # Its client came back on another connection and no longer waits for the first answer.
            session.parked.finish()
        self._advance(session)
        return session

    def _keep(self, session: FetchSession) -> None:
        if len(self._sessions) >= self._slots and not self._evict_stale():
            return
        session.id = self._fresh_id()
        self._sessions[session.id] = session
        self._advance(session)

    def _advance(self, session: FetchSession) -> None:
        session.epoch = 1 if session.epoch == 0x7FFFFFFF else session.epoch + 1
        session.last_used = self._time()

    def _fresh_id(self) -> int:
        while True:
            candidate = self._new_id()
            if candidate not in self._sessions:
                return candidate

    def _evict_stale(self) -> bool:
        # One whose fetch waits is in use; to end it would answer its client in the stack of the one that wants its slot.
        idle = (session for session in self._sessions.values() if session.parked is None)
        oldest = min(idle, key=lambda session: session.last_used, default=None)
        if oldest is None or self._time() - oldest.last_used < EVICT_AFTER_SECONDS:
            return False
        self._close(oldest.id, oldest.owner)
        return True

    def _close(self, session_id: int, owner: str) -> None:
        session = self._sessions.get(session_id)
        if session is not None and session.owner == owner:
            del self._sessions[session_id]
            # First, since it looks once more, and follows what it looks at.
            if session.parked is not None:
                session.parked.finish()
            session.unfollow_all()
