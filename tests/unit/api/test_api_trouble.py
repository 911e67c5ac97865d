"""Trouble of connections: a login that is refused explains what fails soon after it, and is told in the log now and then."""

import logging

import pytest
from confluent_kafka import KafkaError

from headrace.api import trouble as trouble_module
from headrace.api.trouble import EXPLAINS_SECONDS, Trouble
from headrace.base.outage import Outage

REFUSED = KafkaError(KafkaError._AUTHENTICATION, "the login was refused")
LATE = KafkaError(KafkaError._MSG_TIMED_OUT)


def test_a_refused_login_explains_what_fails_soon_after_it() -> None:
    now = [100.0]
    trouble = Trouble(lambda: now[0])
    assert trouble.cause_of(LATE) is LATE
    trouble.note(REFUSED)
    assert trouble.cause_of(LATE) is REFUSED
    unknown_topic = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    assert trouble.cause_of(unknown_topic) is unknown_topic
    now[0] += EXPLAINS_SECONDS
    assert trouble.cause_of(LATE) is LATE


def test_each_cause_is_one_line_in_the_log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trouble_module, "_outages", {code: Outage() for code in trouble_module._outages})
    down = KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")
    with caplog.at_level(logging.WARNING, "headrace.api"):
        for error in (REFUSED, REFUSED, down, down, LATE):
            Trouble().note(error)
    refused, silent = [record.getMessage() for record in caplog.records]
    assert refused.startswith("trying on: the login was refused; see sasl.username, sasl.password")
    assert silent.startswith("trying on: 1/1 brokers are down; see whether the brokers run")
