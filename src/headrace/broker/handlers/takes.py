"""The parts of the broker that a handler takes. `Dispatch` gives each the whole of it, so the table wraps those that
need one part.

One that needs several is wrapped by a lambda of its own.
"""

from collections.abc import Callable
from typing import Any

from headrace.broker.coordinators.groups import GroupCoordinators
from headrace.broker.coordinators.transactions import TransactionCoordinators
from headrace.broker.hosting.hosting import Hosting
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Handle, Request
from headrace.broker.partitions import Partitions


def nothing(handle: Callable[[Request], Any]) -> Handle:
    return lambda _, request: handle(request)


def view(handle: Callable[[View, Request], Any]) -> Handle:
    return lambda broker, request: handle(broker.view, request)


def partitions(handle: Callable[[Partitions, Request], Any]) -> Handle:
    return lambda broker, request: handle(broker.partitions, request)


def hosting(handle: Callable[[Hosting, Request], Any]) -> Handle:
    return lambda broker, request: handle(broker.hosting, request)


def groups(handle: Callable[[GroupCoordinators, Request], Any]) -> Handle:
    return lambda broker, request: handle(broker.coordinators, request)


def transactions(handle: Callable[[TransactionCoordinators, Request], Any]) -> Handle:
    return lambda broker, request: handle(broker.transactions, request)
