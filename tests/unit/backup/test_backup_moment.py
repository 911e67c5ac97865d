"""The moment of a cluster: what nobody can tell just now is no part of it that is empty."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.backup.moment import _all_groups
from headrace.base.errors import Refused
from headrace.wire.codes import ErrorCode


class FencedAdmin:
    """Of a cluster whose only broker has lost its lease for a moment."""

    async def describe_cluster(self) -> Any:
        return SimpleNamespace(brokers=[SimpleNamespace(broker_id=1, is_fenced=True)])


def test_groups_are_not_none_while_every_broker_is_fenced() -> None:
    admin: Any = FencedAdmin()
    with pytest.raises(Refused) as refused:
        asyncio.run(_all_groups(admin))
    assert refused.value.code == ErrorCode.COORDINATOR_NOT_AVAILABLE, "it is asked again"
