"""Logins that are checked again, and clients that are closed for others."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from headrace.gateway.broker_login import BrokerLogin
from headrace.gateway.callers import callers as callers_module
from headrace.gateway.callers.callers import Callers
from headrace.gateway.callers.credential import Credential
from headrace.gateway.gateway import Gateway
from headrace.gateway.groups.sessions import Sessions
from headrace.gateway.problem import Problem
from headrace.gateway.push.hub import Hub
from headrace.gateway.settings import GatewaySettings

AL, BO, CY = (Credential(name, "secret") for name in ("al", "bo", "cy"))
Check = Callable[[str], Awaitable[None]]


async def taken(_: str) -> None:
    pass


def callers_of(check_again: Check, **changed: float) -> Callers:
    options = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    home = Gateway(GatewaySettings(kafka=options, bootstrap="127.0.0.1:1", **changed))
    assert home.trust is not None

    def furnish(gateway: Gateway) -> None:
        gateway.add(Hub(gateway))
        gateway.add(Sessions(gateway))

    async def check(login: BrokerLogin) -> None:
        assert login.security is not None and login.security.sasl is not None
        await check_again(login.security.sasl.username)

    made = Callers(home, home.trust, furnish)
    made._checks.check_known = check
    made._checks.check_stranger = lambda *_: taken("")
    return made


def test_one_check_that_hangs_or_fails_leaves_the_others_to_be_checked(monkeypatch):
    monkeypatch.setattr(callers_module, "SWEEP_SECONDS", 0.01)
    refused: list[Credential] = []

    async def check(name: str) -> None:
        match name:
            case "al":
                await asyncio.sleep(60)
            case "bo":
                raise RuntimeError("a broker answered nonsense")
        raise Problem(401, "Not logged in", "gone")

    async def run() -> None:
        callers = callers_of(check, login_check_seconds=0.01)
        callers.on_refused = refused.append
        await callers.start()
        serving = [(await callers.welcome(each, "")).serving() for each in (AL, BO, CY)]
        for each in serving:
            each.__enter__()
        async with asyncio.timeout(5):
            while CY not in refused:
                await asyncio.sleep(0.01)
        assert refused == [CY]
        await callers.stop()

    asyncio.run(run())


@pytest.mark.parametrize("pause", range(4))
def test_clients_are_not_closed_between_a_login_and_its_first_request(pause):
    async def run() -> None:
        callers = callers_of(taken, callers_max=1)

        async def ask(credential: Credential, turns: int) -> None:
            for _ in range(turns):
                await asyncio.sleep(0)
            try:
                caller = await callers.welcome(credential, "")
            except Problem as problem:
                assert problem.status == 429
                return
            with caller.serving():
                assert caller in callers._callers.values()
                await asyncio.sleep(0.01)

        async with asyncio.timeout(5):
            await asyncio.gather(ask(AL, 0), ask(BO, pause))
        await callers.stop()

    asyncio.run(run())
