"""Logins at a broker: the gates of its listeners that ask for one, and what the mechanisms behind them need.

    gates(listener) ─▶ LoginGates(mechanisms) ─▶ Gate for each connection

Passwords are checked against the users of the image, so a change is known with the next login.
"""

import asyncio
import logging
import random
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

from headrace.base.clock import Clock
from headrace.base.errors import Refused, UserError
from headrace.broker.membership.view import View
from headrace.broker.net.listener import Listener
from headrace.broker.security.gate import LoginGates
from headrace.broker.security.login_settings import LoginSettings, claim_rules, gate_settings
from headrace.broker.security.mechanisms import (
    NONCE_BYTES,
    Begin,
    OauthbearerExchange,
    PlainExchange,
    ScramExchange,
    TokenClaims,
)
from headrace.broker.security.token_logins import TokenLogins
from headrace.broker.tasks import Tasks
from headrace.cluster.entities import User
from headrace.cluster.listeners import PlannedListener
from headrace.identity.login_work import LoginWork
from headrace.identity.signed_tokens import TokenVerifier
from headrace.identity.signing_keys import SETTING, Pauses, SigningKeys, reader_of
from headrace.security.credentials import DIGESTS, Credentials
from headrace.security.refusal import LoginRefused
from headrace.security.shared_secret import SALTS, SECRET_BYTES, make_secret
from headrace.security.tokens import TOKENS

logger = logging.getLogger("headrace.login")

PLAIN: Final = "PLAIN"
OAUTHBEARER: Final = "OAUTHBEARER"
SCOPED_ONLY: Final = "sasl.oauthbearer.scoped.tokens.only"


class Logins:
    def __init__(self, view: View, clock: Clock, rng: random.Random, tasks: Tasks) -> None:
        self._view = view
        self._clock = clock
        self._rng = rng
        self._tasks = tasks
        self._loop = asyncio.get_running_loop()
        self._works: list[LoginWork] = []
        self._tokens = TokenLogins(lambda: view.image, clock)
        self._keys: list[SigningKeys] = []
        self._users: Mapping[str, User] | None = None
        self._credentials = Credentials({}, b"")

    async def open_gates(self, listeners: Iterable[Listener]) -> None:
        """Puts gates before those that ask for a login; raises UserError where they could let in whom they should not."""
        for each in listeners:
            if each.plan.has_sasl:
                settings = LoginSettings(self._view.config, each.plan.name)
                mechanisms = await self._mechanisms(each.plan, settings)
                each.gates = LoginGates(each.dispatcher, mechanisms, gate_settings(settings), each.probes, self._loop)

    async def _mechanisms(self, listener: PlannedListener, settings: LoginSettings) -> Mapping[str, Begin]:
        offered = settings.words("sasl.enabled.mechanisms")
        if not offered:
            raise UserError(
                f"listener {listener.name} asks for a login and offers no way to log in",
                "set sasl.enabled.mechanisms, for example to SCRAM-SHA-512",
            )
        if not listener.has_tls and {PLAIN, OAUTHBEARER} & set(offered):
            logger.warning(
                "passwords and tokens cross the network of listener %(listener)s as they are; SASL_SSL hides them",
                {"listener": listener.name},
            )
        # Each listener has its own, so that a flood of clients' logins does not keep brokers waiting for theirs.
        work = LoginWork(self._loop)
        self._works.append(work)
        return {mechanism: await self._begin(mechanism, settings, work) for mechanism in offered}

    async def prepare(self) -> None:
        """Makes the secrets of unknown users' salts and of tokens, if the cluster has none yet. Before anybody is let in."""
        fresh = {name: self._rng.randbytes(SECRET_BYTES) for name in (SALTS, TOKENS)}
        try:
            for name, value in fresh.items():
                await self._view.metadata.change(partial(make_secret, name=name, fresh=value))
        except Refused as refusal:
            raise UserError(f"cannot start: {refusal.message}", "See to the metadata store, and start again.") from None

    def close(self) -> None:
        for work in self._works:
            work.close()
        for keys in self._keys:
            keys.close()

    async def _begin(self, mechanism: str, settings: LoginSettings, work: LoginWork) -> Begin:
        if mechanism in DIGESTS:
            return lambda: ScramExchange(mechanism, self.credentials, self._tokens, work, self._nonce())
        if mechanism == PLAIN:
            return partial(PlainExchange, self.credentials, self._tokens, work)
        assert mechanism == OAUTHBEARER, mechanism
        if settings.flag(SCOPED_ONLY):
            return lambda: OauthbearerExchange(None, self._tokens)
        rules = claim_rules(settings)
        keys = _signing_keys(settings, self._loop)
        self._keys.append(keys)
        await keys.load()
        self._tasks.start("signing keys", keys.run())
        claims = TokenClaims(TokenVerifier(keys, work), rules, self._clock)
        return lambda: OauthbearerExchange(claims, self._tokens)

    def credentials(self) -> Credentials:
        image = self._view.image
        secret = image.secrets.get(SALTS)
        if secret is None:
            raise LoginRefused(
                "the secret of this cluster is gone from the metadata store; brokers make it as they start"
            )
        if image.users is not self._users:
            self._users, self._credentials = image.users, Credentials(image.users, secret.value)
        return self._credentials

    def _nonce(self) -> str:
        return urlsafe_b64encode(self._rng.randbytes(NONCE_BYTES)).decode()


def _signing_keys(settings: LoginSettings, loop: asyncio.AbstractEventLoop) -> SigningKeys:
    url = settings.text(SETTING)
    pauses = Pauses(
        settings.number("sasl.oauthbearer.jwks.endpoint.refresh.ms") / 1000,
        settings.number("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms") / 1000,
        settings.number("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms") / 1000,
    )
    return SigningKeys(reader_of(url), url, pauses, loop)
