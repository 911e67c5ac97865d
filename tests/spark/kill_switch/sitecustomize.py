"""Put before a Spark program's own modules by a test: kills the whole of it, -9, at a step of the sink.

KILL_AT=EndTxnRequest:answered (or :sent) names the step; KILL_ONCE, a file that is gone when the switch was used, arms it;
KILL_GROUP is the process group of driver and JVM. Python workers have a group of their own, and go with it.
"""

import asyncio
import os
import signal
from pathlib import Path


def _die() -> None:
    try:
        Path(os.environ["KILL_ONCE"]).unlink()
    except FileNotFoundError:
        return
    os.killpg(int(os.environ["KILL_GROUP"]), signal.SIGKILL)
    os.killpg(0, signal.SIGKILL)


def _arm(request_name: str, moment: str) -> None:
    from headrace.client import peer

    asked = peer.PeerConnections.ask

    async def ask(self, address, request, *others, **named):
        if type(request).__name__ != request_name:
            return await asked(self, address, request, *others, **named)
        if moment == "sent":
            waiting = asyncio.ensure_future(asked(self, address, request, *others, **named))
            # The broker may have it or not: so it is with a crash.
            await asyncio.sleep(0.005)
            _die()
            return await waiting
        answer = await asked(self, address, request, *others, **named)
        _die()
        return answer

    peer.PeerConnections.ask = ask


if "KILL_AT" in os.environ and "KILL_GROUP" in os.environ:
    _arm(*os.environ["KILL_AT"].split(":"))
