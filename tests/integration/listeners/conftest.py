"""Certificates, and a broker with a listener for clients that has TLS."""

from collections.abc import Iterator

import pytest
from tls_world import Certificates, SecureBroker


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def secure(certificates: Certificates) -> Iterator[SecureBroker]:
    broker = SecureBroker(certificates)
    with broker.broker:
        yield broker
