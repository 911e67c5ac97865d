"""The cluster as this broker knows it: the newest image, kept up to date from the store, and the way to change it.

    change(plan) → plan(image) → commit, compared with what the plan has read ──conflict──▶ newer image, plan again
                                     └─▶ watch → image.apply → on_image (partitions open, close, follow) → visible

A change is visible here before `change` returns, so a client that asks this broker next sees what it did. `as_of` is
the moment up to which the image is known to be the newest: a lease is worth no more than what its holder believes.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from headrace.base.errors import Refused, StoreUnreachable
from headrace.broker.membership.image_turns import applied, image_of, sharing
from headrace.cluster.image import Image
from headrace.cluster.store import Commit, Compacted, Conflict, MetaStore, commit_all
from headrace.wire.codes import ErrorCode

logger = logging.getLogger("headrace.metadata")

Plan = Callable[[Image], list[Commit]]
CHANGE_TRIES = 20
CHANGE_SECONDS_MAX = 30.0
RETRY_SECONDS = 0.1


class Metadata:
    def __init__(
        self, store: MetaStore, on_image: Callable[[Image], Awaitable[None]], mono: Callable[[], float]
    ) -> None:
        self.store = store
        self.image = Image()
        self._on_image = on_image
        self._mono = mono
        self._visible = 0
        self._behind_since: float | None = None
        self._showing = asyncio.Lock()
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    async def load(self) -> None:
        """Loads the whole image from the store: at the start, and when a watch cannot bridge a gap."""
        image = await image_of(await self.store.load())
        async with self._showing:
            if image.revision > self.image.revision or self.image.cluster is None:
                await self._show(await sharing(image, self.image))

    async def begin(self, image: Image) -> None:
        """With what was just loaded; the watch goes on from there."""
        async with self._showing:
            await self._show(image)

    async def run_watch(self) -> None:
        while True:
            try:
                async for changes in self.store.watch(self.image.revision):
                    self._behind_since = self._mono()
                    async with self._showing:
                        # A load may have overtaken the watch; an image never goes back.
                        if changes.revision > self.image.revision:
                            await self._show(await applied(self.image, changes.changes, changes.revision))
                    self._behind_since = None
            except (Compacted, StoreUnreachable) as cause:
                logger.warning("the watch on the metadata ended: %(cause)s", {"cause": cause})
            await asyncio.sleep(RETRY_SECONDS)
            await self._catch_up()

    async def _catch_up(self) -> None:
        """Loads what is new since the watch ended: it may not come back for long, or not know any more what followed."""
        with suppress(StoreUnreachable):
            asked = self._mono()
            if await self.store.commit({}, {}) > self.image.revision:
                self._behind_since = asked
                await self.load()
            self._behind_since = None

    async def show_again(self) -> None:
        """Shows the image again: work that it asks for and that failed then may succeed now."""
        async with self._showing:
            await self._on_image(self.image)

    async def _show(self, image: Image) -> None:
        self.image = image
        await self._on_image(image)
        self._visible = image.revision
        still_waiting = []
        for revision, future in self._waiting:
            if revision > self._visible:
                still_waiting.append((revision, future))
            elif not future.done():
                future.set_result(None)
        self._waiting = still_waiting

    def as_of(self) -> float:
        """The moment since when there is news that is not applied yet; now, if there is none."""
        return self._mono() if self._behind_since is None else self._behind_since

    async def until_visible(self, revision: int) -> None:
        if self._visible < revision:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((revision, future))
            await future

    async def change(self, plan: Plan, validate_only: bool = False) -> None:
        """Commit what `plan` says about the newest image; raises Refused as the plan does, or if it takes too long."""
        if validate_only:
            plan(self.image)
            return
        try:
            async with asyncio.timeout(CHANGE_SECONDS_MAX):
                await self._change(plan)
        except TimeoutError:
            raise Refused(
                ErrorCode.REQUEST_TIMED_OUT, f"the change was not committed in {CHANGE_SECONDS_MAX:.0f} s"
            ) from None

    async def _change(self, plan: Plan) -> None:
        for _ in range(CHANGE_TRIES):
            planned_on = self.image
            try:
                revision = await commit_all(self.store, plan(planned_on))
            except StoreUnreachable as error:
                raise Refused(ErrorCode.REQUEST_TIMED_OUT, f"the metadata store does not answer: {error}") from error
            except Conflict:
                # Somebody was faster. What they did is in the store, so the watch brings it, or has done so already.
                await self.until_visible(planned_on.revision + 1)
                continue
            await self.until_visible(revision)
            return
        raise Refused(ErrorCode.REQUEST_TIMED_OUT, f"others changed the same metadata {CHANGE_TRIES} times meanwhile")
