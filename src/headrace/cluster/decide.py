"""TEMPORARY stand-in by the lead so that a single broker starts; the decide helper overwrites this file."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import Broker
from headrace.cluster.image import Image
from headrace.cluster.registration import register_broker
from headrace.cluster.store import Commit


class Decision(NamedTuple):
    commits: list[Commit]
    unclean: int = 0


def heal(
    image: Image, live: Mapping[int, int], leaving: Collection[int], defaults: BrokerConfig, fence: Mapping[str, int]
) -> Decision:
    return Decision([])


def rejoin(
    image: Image,
    broker: Broker,
    damaged: Collection[tuple[bytes, int]],
    lost_page_cache: bool,
    defaults: BrokerConfig,
) -> list[Commit]:
    return [register_broker(image, broker).commit]


def shut_down(
    image: Image, broker_id: int, live: Mapping[int, int], leaving: Collection[int], defaults: BrokerConfig
) -> list[Commit]:
    return []


def balance_leaders(image: Image, live: Mapping[int, int], limit: int) -> list[Commit]:
    return []
