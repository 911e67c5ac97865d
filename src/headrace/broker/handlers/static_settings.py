"""Values that a broker was started with and that are no settings of ours: its number, addresses and directory, by
Kafka's names.

Clients look for some of them: its rack, and the addresses that it advertises.
"""

import os.path
from collections.abc import Mapping
from pathlib import Path

from headrace.base.settings import Kind, Setting, Value, render
from headrace.broker.membership.view import View
from headrace.broker.net.listeners import Listeners
from headrace.broker.partitions import Partitions
from headrace.cluster.broker_config import Effective, Found, Source
from headrace.cluster.listeners import Url


def log_directory(partitions: Partitions) -> str:
    return os.path.normpath(Path(partitions.path).absolute())


def static_settings(view: View, listeners: Listeners, partitions: Partitions) -> Mapping[str, Effective]:
    me = view.image.brokers[view.id]
    listening = tuple(str(Url(*each)) for each in listeners.addresses)
    endpoints = [me.endpoint(each) for each in listeners.names]
    advertised = tuple(str(Url(*each[:3])) for each in endpoints if each is not None)
    protocols = tuple(f"{each.name}:{each.protocol}" for each in listeners.plan.listeners)
    found = [
        _static("node.id", Kind.INT, view.id, "The number of this broker."),
        _static("broker.id", Kind.INT, view.id, "The number of this broker, by its older name."),
        _static("broker.rack", Kind.STRING, me.rack, "The rack or zone of this broker."),
        _static("process.roles", Kind.LIST, ("broker", "controller"), "Every broker may control the cluster."),
        _static("listeners", Kind.LIST, listening, "Where this broker listens."),
        _static("advertised.listeners", Kind.LIST, advertised, "Where clients are told to find it."),
        _static("listener.security.protocol.map", Kind.LIST, protocols, "The protocol of each listener."),
        _static(
            "inter.broker.listener.name",
            Kind.STRING,
            listeners.plan.between_brokers,
            "The listener that brokers use among themselves.",
        ),
        _static("log.dirs", Kind.LIST, (log_directory(partitions),), "Where this broker keeps its partitions."),
    ]
    return {each.setting.name: each for each in found if each.value is not None}


def _static(name: str, kind: Kind, value: Value, doc: str) -> Effective:
    return Effective(Setting(name, kind, None, doc), value, (Found(name, render(value), Source.STATIC_BROKER),))
