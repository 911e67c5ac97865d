"""Sessions of tokens end as soon as their token does, and no others."""

from types import SimpleNamespace

import pytest
from login_entrance import TOKEN_SECRET, Entrance, Visitor

from headrace.broker.security.token_sessions import TokenSessions
from headrace.security.revocation import with_revoked
from headrace.security.scoped_tokens import narrowed, parse_token
from headrace.security.tokens import key_of


class Broker:
    """A listener, and who watches over the sessions on it."""

    def __init__(self) -> None:
        self.entrance = Entrance()
        first, second = self.entrance.token("User:al"), self.entrance.token("User:bo")
        self.visitors = [self.logged_in(first), self.logged_in(second), self.logged_in("right")]
        # The view of a broker is whole when its image is.
        self.view = SimpleNamespace(image=self.entrance.image)
        self.sessions = TokenSessions(self.view, lambda: list(self.entrance.listener.connections))

    def logged_in(self, password: str) -> Visitor:
        visitor = self.entrance.connect()
        visitor.log_in(token=f"\0al\0{password}".encode())
        return visitor

    def change(self, **tokens: object) -> None:
        """A new image, in which these tokens are others; None for one that is gone."""
        known = {**self.view.image.tokens, **tokens}
        left = {name: each for name, each in known.items() if each is not None}
        self.view.image = self.view.image._replace(tokens=left)
        self.sessions.on_image()

    @property
    def closed(self) -> list[bool]:
        return [each.is_closed for each in self.visitors]


@pytest.fixture
def broker() -> Broker:
    return Broker()


def test_a_revoked_one_closes_its_connections(broker: Broker) -> None:
    broker.change(t0=None)
    assert broker.closed == [True, False, False]
    broker.change(t1=None)
    assert broker.closed == [True, True, False]


def test_a_life_that_is_cut_short_closes_them_too_and_a_longer_one_does_not(broker: Broker) -> None:
    token = broker.view.image.tokens["t0"]
    broker.change(t0=token._replace(expires_ms=token.expires_ms + 1, revision=9))
    assert broker.closed == [False, False, False]
    broker.change(t0=token._replace(expires_ms=token.expires_ms, revision=10))
    assert broker.closed == [True, False, False]


def test_other_news_closes_nobody(broker: Broker) -> None:
    broker.sessions.on_image()
    broker.view.image = broker.view.image._replace(users={})
    broker.sessions.on_image()
    broker.change()
    broker.change(t7=broker.view.image.tokens["t1"]._replace(id="t7"))
    assert broker.closed == [False, False, False]


def test_a_narrowed_one_closes_its_connections_and_those_of_what_was_made_of_it(broker: Broker) -> None:
    wide = parse_token(broker.entrance.token("User:al", {"may": ["read topic orders"]}))
    narrow = narrowed(wide, [{"until": 1_009_000}])
    narrower, sibling = narrowed(narrow, [{"may": []}]), narrowed(wide, [{"until": 1_008_000}])
    broker.view.image = broker.entrance.image
    broker.sessions.on_image()
    broker.visitors = [broker.logged_in(each.text) for each in (wide, narrow, narrower, sibling)]
    broker.change(t2=with_revoked(broker.view.image.tokens["t2"], narrow, key_of(TOKEN_SECRET, "t2")))
    assert broker.closed == [False, True, True, False]
    broker.change(t2=with_revoked(broker.view.image.tokens["t2"], wide, key_of(TOKEN_SECRET, "t2")))
    assert broker.closed == [True, True, True, True]
