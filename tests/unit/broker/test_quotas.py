"""DescribeClientQuotas: there are none, and what could never be meant is refused."""

from types import SimpleNamespace

import pytest

from headrace.broker.handlers.quotas import handle_describe_client_quotas
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.quotas import ComponentData, DescribeClientQuotasRequest, DescribeClientQuotasResponse

USER, DEFAULT_CLIENT, ADDRESSES = (
    ComponentData("user", 0, "jo"),
    ComponentData("client-id", 1, None),
    ComponentData("ip", 2, None),
)


def described(*components: ComponentData) -> DescribeClientQuotasResponse:
    return handle_describe_client_quotas(SimpleNamespace(body=DescribeClientQuotasRequest(list(components), True)))


@pytest.mark.parametrize("components", [(), (USER,), (USER, DEFAULT_CLIENT), (ADDRESSES,)])
def test_there_are_none(components: tuple[ComponentData, ...]) -> None:
    assert described(*components) == DescribeClientQuotasResponse(0, 0, None, [])


@pytest.mark.parametrize(
    "components",
    [
        (USER, USER),
        (USER, ADDRESSES),
        (ComponentData("", 2, None),),
        (ComponentData("user", 3, None),),
        (ComponentData("user", 0, None),),
        (ComponentData("user", 1, "jo"),),
    ],
)
def test_what_could_never_be_meant_is_refused(components: tuple[ComponentData, ...]) -> None:
    answer = described(*components)
    assert (answer.error_code, answer.entries) == (ErrorCode.INVALID_REQUEST, None) and answer.error_message
