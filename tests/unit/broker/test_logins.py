"""Logins of a broker's listeners: what a flood on one of them costs the others."""

import asyncio
import random
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.base.errors import PeerError
from headrace.base.probe import Probes
from headrace.broker.security import mechanisms
from headrace.broker.security.logins import Logins
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import Secret
from headrace.cluster.image import Image
from headrace.cluster.listeners import PlannedListener
from headrace.identity import login_work
from headrace.security.shared_secret import SALTS

WRONG = b"\0al\0wrong"


def listener(name: str) -> Any:
    return SimpleNamespace(
        plan=PlannedListener(name, "SASL_SSL", "", 0, None), dispatcher=None, probes=Probes(), gates=None
    )


def test_a_flood_of_logins_at_one_listener_does_not_keep_brokers_out_of_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever floods the clients' needs no password for it."""
    monkeypatch.setattr(login_work, "LOGINS_WAITING_MAX", 1)
    monkeypatch.setattr(mechanisms, "is_password_of", lambda *_: False)
    config = BrokerConfig({"sasl.enabled.mechanisms": "PLAIN"})
    view: Any = SimpleNamespace(config=config, image=Image(secrets={SALTS: Secret(b"s" * 32)}))

    async def story() -> tuple[Any, Any]:
        logins = Logins(view, None, random.Random(1), None)  # type: ignore[arg-type]
        clients, brokers = listener("CLIENTS"), listener("BROKERS")
        await logins.open_gates([clients, brokers])
        at_clients, at_brokers = (each.gates.mechanisms["PLAIN"] for each in (clients, brokers))
        answers = await asyncio.gather(
            *(begin().answer(WRONG) for begin in (at_clients, at_clients, at_brokers)), return_exceptions=True
        )
        logins.close()
        return answers[1], answers[2]

    second_client, broker = asyncio.run(story())
    assert isinstance(second_client, PeerError)
    assert "the password is wrong" in str(broker)
