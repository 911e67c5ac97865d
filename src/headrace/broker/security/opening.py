"""The parts that make a broker's listeners secure, opened from its settings before anything is served.

Whatever is wrong with them ends the start: no listener opens with less than it was asked for.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Final

from headrace.broker.net.dialler import Dialler
from headrace.broker.security.tls import ListenerTls
from headrace.client.security import Sasl, security_from
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.listeners import ListenerPlan, PlannedListener

CERTIFICATES_LOOK_SECONDS: Final = 3.0


def open_tls(plan: ListenerPlan, config: Callable[[], BrokerConfig]) -> Mapping[str, ListenerTls]:
    """Listener → its TLS, of those that have it."""
    with_tls = [each for each in plan.listeners if each.has_tls]
    return {each.name: ListenerTls(each, config, each.name == plan.between_brokers) for each in with_tls}


def open_dialler(plan: ListenerPlan, config: BrokerConfig, tls: Mapping[str, ListenerTls]) -> Dialler:
    for_brokers = plan.for_brokers
    own = tls.get(for_brokers.name)
    sasl = _sasl_between_brokers(for_brokers, config) if for_brokers.has_sasl else None
    return Dialler(for_brokers.name, lambda: None if own is None else own.client, sasl)


def _sasl_between_brokers(listener: PlannedListener, config: BrokerConfig) -> Sasl | None:
    """The user that this broker is to others: in the listener's login module for the mechanism between brokers."""
    mechanism = str(config.value("sasl.mechanism.inter.broker.protocol"))
    jaas = config.of_listener(listener.name, f"{mechanism.lower()}.sasl.jaas.config")
    options = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": jaas if isinstance(jaas, str) else "",
    }
    security = security_from(options)
    return security and security.sasl


async def look_at_certificates(tls: Mapping[str, ListenerTls], threads: Executor) -> None:
    """Reads certificates again when they have changed, for as long as the broker runs."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(CERTIFICATES_LOOK_SECONDS)
        for each in tls.values():
            await loop.run_in_executor(threads, each.look)
