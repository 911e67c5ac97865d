"""Values to bytes and back, settings with hints, salts: all that needs no broker."""

import math
import subprocess
import sys

import pytest
from pydantic import BaseModel

from headrace.api.errors import ApiError, Unserialisable
from headrace.api.message import Message
from headrace.api.options import kafka_config
from headrace.api.positions import places_after, places_at
from headrace.api.salting import salted, unsalted
from headrace.api.values import to_bytes

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}


class Order(BaseModel):
    id: int


def message(value: bytes | None, partition: int = 0, offset: int = 0) -> Message:
    return Message("t", partition, offset, None, value, 1_700_000_000_000)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (b"raw", b"raw"),
        (bytearray(b"raw"), b"raw"),
        ("grün", "grün".encode()),
        ({"a": [1, None, "ü"]}, '{"a":[1,null,"ü"]}'.encode()),
        (7, b"7"),
        (Order(id=3), b'{"id":3}'),
    ],
)
def test_values_become_bytes(value: object, expected: bytes | None) -> None:
    assert to_bytes(value) == expected


@pytest.mark.parametrize("value", [object(), {1, 2}, math.nan, {"a": b"bytes"}, Order])
def test_what_cannot_be_sent_is_told_with_the_fix(value: object) -> None:
    with pytest.raises(Unserialisable, match="pydantic"):
        to_bytes(value)


def test_models_and_avro_come_back() -> None:
    assert message(b'{"id":3}').model(Order) == Order(id=3)
    assert message(to_bytes({"id": 5}, ORDER)).avro(ORDER) == {"id": 5}
    with pytest.raises(Unserialisable, match="Avro schema"):
        to_bytes({"id": "text"}, ORDER)
    with pytest.raises(ApiError, match="no Avro schema"):
        to_bytes({}, {"type": "nonsense"})


def test_a_value_that_is_not_there_or_no_json_says_so() -> None:
    with pytest.raises(ApiError, match="deletes its key"):
        message(None).json()
    with pytest.raises(ApiError, match="t-0 at offset 0 is no JSON"):
        message(b"{").json()


def test_settings_by_either_spelling_and_the_last_one_counts() -> None:
    assert kafka_config({"linger.ms": 1}, None, {"linger_ms": 2, "log_level": 0}) == {"linger.ms": 2, "log_level": 0}


def test_places_of_a_batch() -> None:
    batch = [message(b"", 0, 5), message(b"", 1, 9), message(b"", 0, 6)]
    assert places_at(batch) == {("t", 0): 5, ("t", 1): 9}
    assert places_after(batch) == {("t", 0): 7, ("t", 1): 10}


def test_salts_spread_a_key_and_come_off_again() -> None:
    assert {salted("hot", 4, salt) for salt in range(8)} == {b"hot#0", b"hot#1", b"hot#2", b"hot#3"}
    assert unsalted(salted(b"a#b", 3)) == b"a#b"
    assert unsalted(b"plain") == b"plain"
    with pytest.raises(ApiError, match="at least one"):
        salted("hot", 0)


def test_importing_headrace_loads_no_client() -> None:
    program = "import sys, headrace; assert 'confluent_kafka' not in sys.modules; headrace.connect"
    subprocess.run([sys.executable, "-c", program], check=True)
