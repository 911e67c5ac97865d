"""A broker without an authorizer in a cluster that has rules says so when it starts."""

import logging
from pathlib import Path

import pytest
from acl_rig import ADMIN, Client, as_principals, guarded_broker, rule

from headrace.security.operations import Operation, ResourceType
from headrace.testing import Broker


def test_it_warns_of_rules_that_it_does_not_go_by(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)

    async def work(admin: Client) -> None:
        await admin.granted(rule("User:al", ResourceType.TOPIC, Operation.READ, "orders"))

    with Broker(data=tmp_path, in_process=True):
        pass
    with guarded_broker(data=tmp_path) as broker:
        as_principals(broker, [ADMIN], work)
    assert "goes by none of them" not in caplog.text
    with Broker(data=tmp_path, in_process=True):
        pass
    assert caplog.text.count("goes by none of them") == 1
    assert "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer" in caplog.text
