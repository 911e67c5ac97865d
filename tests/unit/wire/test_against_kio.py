"""Every message at every version encodes and decodes as kio does, both ways."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from kio_oracle import kio_class, kio_decode, kio_encode, messages, to_kio

from headrace.wire.apis import APIS
from headrace.wire.codec import decode, encoded
from headrace.wire.schema import Message

EVERY_VERSION = [
    pytest.param(cls, version, id=f"{cls.__name__}-{version}")
    for api in APIS.values()
    for cls in (api.request, api.response)
    for version in cls.VERSIONS
]

quick = settings(
    max_examples=10,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize(("cls", "version"), EVERY_VERSION)
def test_agrees_with_kio(cls: type[Message], version: int) -> None:
    kio = kio_class(cls, version)

    @quick
    @given(messages(cls, kio, version))
    def agree(message: Any) -> None:
        expected = to_kio(message, kio, version)
        data = encoded(message, version)
        assert data == kio_encode(expected)
        assert to_kio(decode(cls, version, data), kio, version) == expected
        assert kio_decode(kio, data) == expected

    agree()
