"""Log lines of TLS handshakes that fail: bounded, whoever tries on."""

import logging

import pytest

from headrace.broker.net import handshake_failures
from headrace.broker.net.handshake_failures import HandshakeFailures


class Told:
    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.now = 0.0
        self._caplog = caplog
        self.failures = HandshakeFailures(lambda: self.now)

    def lines(self) -> list[str]:
        said = [each.getMessage() for each in self._caplog.records]
        self._caplog.clear()
        return said


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Told:
    caplog.set_level(logging.WARNING)
    return Told(caplog)


def test_one_who_tries_on_is_told_once_a_minute_with_a_count(told: Told) -> None:
    for port in range(1_000):
        told.failures.note(f"10.0.0.1:{port}", "this is HTTP")
    assert told.lines() == ["no TLS handshake with 10.0.0.1:0: this is HTTP"]
    told.now = 60.0
    told.failures.note("10.0.0.1:7", "this is HTTP")
    assert told.lines() == ["no TLS handshake with 10.0.0.1:7: this is HTTP (999 more since it was last told)"]
    told.failures.note("10.0.0.1:8", "this is HTTP")
    assert told.lines() == []


def test_another_address_and_another_cause_are_told_at_once(told: Told) -> None:
    for peer, cause in (("10.0.0.1:1", "a"), ("10.0.0.2:1", "a"), ("::1:1", "a"), ("10.0.0.1:2", "b")):
        told.failures.note(peer, cause)
    assert len(told.lines()) == 4


def test_many_addresses_have_one_line_together(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshake_failures, "KINDS_MAX", 3)
    for number in range(100):
        told.failures.note(f"10.0.0.{number}:1", "a")
    assert len(told.lines()) == 4
    told.now = 60.0
    for number in range(100, 200):
        told.failures.note(f"10.0.0.{number}:1", "a")
    assert len(told.lines()) <= 5
    assert len(told.failures._told) <= 4
