"""Background tasks of a node, started and ended in a known order.

`asyncio.TaskGroup` keeps its tasks in a set ordered by address, so what is cancelled first differs from run to run; a
simulation must not. A task that fails takes the node down: nothing in the background is allowed to die unseen.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Tasks:
    def __init__(self, on_failure: Callable[[BaseException], None]) -> None:
        self._on_failure = on_failure
        self._tasks: dict[asyncio.Task[None], None] = {}

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks[task] = None
        task.add_done_callback(self._on_done)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_failure(error)

    async def stop(self) -> None:
        for task in reversed(list(self._tasks)):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
