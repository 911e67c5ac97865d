"""Who clients of a scenario are to its brokers, and whom they trust, in the words of each library."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Login(NamedTuple):
    librdkafka: Mapping[str, Any] = {}
    kafka_python: Mapping[str, Any] = {}


NOBODY = Login()
