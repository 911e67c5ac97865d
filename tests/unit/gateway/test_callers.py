"""Logins that are checked again, and clients that are closed for others."""

import asyncio
import contextlib
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
from headrace.security.scoped_tokens import narrowed, whole_token

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
                await asyncio.Event().wait()
            case "bo":
                raise RuntimeError("a broker answered nonsense")
        raise Problem(401, "Not logged in", "gone")

    async def run() -> None:
        callers = callers_of(check, login_check_seconds=0.01)
        was_refused = asyncio.Event()
        callers.on_refused = lambda credential: (refused.append(credential), was_refused.set())
        await callers.start()
        serving = [(await callers.welcome(each, "")).serving() for each in (AL, BO, CY)]
        for each in serving:
            each.__enter__()
        async with asyncio.timeout(5):
            await was_refused.wait()
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

        async with asyncio.timeout(5):
            await asyncio.gather(ask(AL, 0), ask(BO, pause))
        await callers.stop()

    asyncio.run(run())


def test_one_holder_of_a_token_takes_no_more_than_a_share():
    """Any name goes with a token, and it can be narrowed again and again: all of that is one holder."""
    whole = whole_token("0d4c1d31", b"key")
    spellings = [Credential(f"any-{number}", whole.text) for number in range(3)]
    spellings += [Credential("", narrowed(whole, [{"until": 2_000_000_000_000 + number}]).text) for number in range(3)]

    async def run() -> None:
        callers = callers_of(taken, callers_max=8)
        with contextlib.ExitStack() as serving:
            with pytest.raises(Problem) as refused:
                for each in spellings:
                    serving.enter_context((await callers.welcome(each, "")).serving())
            assert refused.value.status == 429
            assert len(callers._callers) == 2
            for each in (AL, BO, CY):
                serving.enter_context((await callers.welcome(each, "")).serving())
        await callers.stop()

    asyncio.run(run())
