"""The lag of the event loop, and the request that made it: more than 50 ms is a bug.

A timer that should fire every 100 ms measures its own delay. `net.dispatch` leaves the API that it works on in
`Probes.last_request`, so that a stall has a suspect.
"""

import asyncio
import logging

from headrace.base.probe import Probes

logger = logging.getLogger("headrace.loop")

INTERVAL_SECONDS = 0.1
STALL_SECONDS = 0.05


class LoopLag:
    def __init__(self, probes: Probes) -> None:
        self._probes = probes

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + INTERVAL_SECONDS
            await asyncio.sleep(INTERVAL_SECONDS)
            lag = loop.time() - due
            probes = self._probes
            probes.loop_lag.observe(lag)
            probes.loop_lag_max_seconds = max(probes.loop_lag_max_seconds, lag)
            if lag > STALL_SECONDS:
                probes.loop_stalls += 1
                logger.warning(
                    "the event loop stood still for %(lag_ms)d ms; last request: %(request)s",
                    {"lag_ms": int(lag * 1000), "request": str(probes.last_request)},
                )
