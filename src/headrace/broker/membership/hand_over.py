"""The end of a broker that stops: it says so, gives its leaderships to others, and stays to point clients there."""

import asyncio
import logging
from collections.abc import Collection
from functools import partial

from headrace.base.errors import Refused
from headrace.broker.membership.view import View
from headrace.cluster.decide import shut_down
from headrace.cluster.image import Image
from headrace.cluster.records import broker_key, encode
from headrace.cluster.store import Commit

logger = logging.getLogger("headrace.hand_over")

# Clients that ask us meanwhile are told the new leader; one that finds a closed port has to look for it.
LINGER_SECONDS = 0.3


async def hand_over(view: View) -> None:
    if not view.config.flag("controlled.shutdown.enable") or len(view.live) < 2:
        return
    try:
        await view.metadata.change(lambda image: [_leave(image, view.id)])
        # A leader that refuses writes for want of room is better than none.
        for avoided in (view.reluctant, view.leaving):
            await view.metadata.change(partial(_shut_down, view, avoided))
    except Refused as refusal:
        logger.warning("leaving without handing over: %(cause)s", {"cause": refusal.message})
        return
    await asyncio.sleep(LINGER_SECONDS)


def _shut_down(view: View, avoided: Collection[int], image: Image) -> list[Commit]:
    return shut_down(image, view.id, view.live, avoided, view.config)


def _leave(image: Image, broker_id: int) -> Commit:
    me = image.brokers[broker_id]
    key = broker_key(broker_id)
    return Commit({key: encode(me._replace(leaving=True))}, {key: me.revision})
