"""Addresses of brokers as whoever asks can use them: those of the listener that the request came in on.

A broker without that listener is left out: its other addresses may be of a network that the client cannot see.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from headrace.broker.membership.view import View
from headrace.cluster.entities import Broker as Registration
from headrace.cluster.image import Image


class Address(NamedTuple):
    id: int
    host: str
    port: int
    rack: str | None


def addresses(brokers: Iterable[Registration], listener: str) -> Iterator[Address]:
    for each in brokers:
        endpoint = each.endpoint(listener)
        if endpoint is not None:
            yield Address(each.id, endpoint.host, endpoint.port, each.rack)


def unreachable(image: Image, listener: str) -> frozenset[int]:
    """The registered brokers that lack a listener."""
    return frozenset(each.id for each in image.brokers.values() if each.endpoint(listener) is None)


def controller_for(view: View, listener: str) -> int:
    """A broker that takes admin requests, as far as it can be called; else the one that was asked, which takes them too."""
    controller = view.image.brokers.get(view.controller_id)
    return view.id if controller is None or controller.endpoint(listener) is None else controller.id
