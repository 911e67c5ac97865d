"""Values into columns: what fits is a column, what does not costs only itself, and columns only grow."""

import datetime
import io
import json
from decimal import Decimal

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.base.errors import UserError
from headrace.pipelines.columns import FIELDS_MAX, grown
from headrace.pipelines.json_values import JsonValues
from headrace.pipelines.values import chosen, decoder_of, first_columns

NONE = pa.schema([])
EMPTY = pa.array([], pa.binary())


def decode(values, columns=NONE):
    """As the lake does: once to see the fields, then again with a column for each."""
    array = pa.array(values, pa.binary())
    columns = grown(columns, [JsonValues(columns).decode(array).fields])
    decoded = JsonValues(columns).decode(array)
    assert [column.type for column in decoded.columns] == columns.types
    rows = pa.table(dict(zip(columns.names, decoded.columns, strict=True)), columns).to_pylist() or [{}] * len(values)
    return columns, rows, decoded.errors.to_pylist()


def test_fields_become_columns():
    columns, rows, errors = decode([b'{"id": 1, "name": "a"}', b'{"id": 2, "tags": ["x"]}', None])
    assert columns == pa.schema([("id", pa.int64()), ("name", pa.string()), ("tags", columns.field("tags").type)])
    assert rows == [
        {"id": 1, "name": "a", "tags": None},
        {"id": 2, "name": None, "tags": ["x"]},
        {"id": None, "name": None, "tags": None},
    ]
    assert errors == [None, None, None]


def test_objects_in_objects_grow_too():
    columns, _, _ = decode([b'{"at": {"x": 1}}'])
    columns, rows, _ = decode([b'{"at": {"y": [{"z": true}]}}', b'{"at": {"x": 3}}'], columns)
    assert rows == [{"at": {"x": None, "y": [{"z": True}]}}, {"at": {"x": 3, "y": None}}]


@pytest.mark.parametrize(
    "bad, reason",
    [
        (b"\xff\xfe", "not JSON"),
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[1]", "not a JSON object but a list"),
        (b'{"id": 1} {"id": 2}', "not JSON"),
        (b'{"id": "one"}', "id: a text, but the column is int64"),
        (b'{"id": 1.5}', "id: a number, but the column is int64"),
        (b'{"id": 9223372036854775808}', "id: a number"),
    ],
)
def test_a_bad_value_costs_only_itself(bad, reason):
    known = pa.schema([("id", pa.int64())])
    _, rows, errors = decode([b'{"id": 1}', bad, b'{"id": 3}'], known)
    assert [row["id"] for row in rows] == [1, None, 3]
    assert errors[0] is None and errors[2] is None and reason in errors[1]


def test_rows_never_slip():
    """Two objects in one value and none in another would still be as many as there are values."""
    _, rows, errors = decode([b'{"id": 1}{"id": 2}', b" ", b'{"id": 3}'], pa.schema([("id", pa.int64())]))
    assert [row["id"] for row in rows] == [None, None, 3] and all(errors[:2])
    _, rows, errors = decode([b'{"id": 1', b"}", b"{} {}"], pa.schema([("id", pa.int64())]))
    assert [row["id"] for row in rows] == [None, None, None] and all(errors)


def test_types_that_contradict_each_other_are_text():
    columns, rows, errors = decode([b'{"a": 1}', b'{"a": "x"}', b'{"a": {"b": 2}}'])
    assert columns.field("a").type == pa.string()
    assert [row["a"] for row in rows] == ["1", "x", '{"b": 2}'] and not any(errors)


def test_a_text_that_looks_like_a_time_stays_text():
    columns, rows, _ = decode([b'{"at": "2026-11-16T00:00:00"}'])
    assert columns.field("at").type == pa.string() and rows == [{"at": "2026-11-16T00:00:00"}]


def test_a_field_named_like_a_record_column_is_kept_apart():
    _, rows, _ = decode([b'{"timestamp": 5, "key": "k", "id": 1}'])
    assert rows == [{"value_timestamp": 5, "value_key": "k", "id": 1}]


def test_what_cannot_be_a_column_stays_in_the_raw_value():
    columns, _, errors = decode([b'{"id": 1, "ID": 2, "": 3, "a.b": 4, "n": null, "e": {}, "l": []}'])
    assert columns.names == ["id"] and errors == [None]


def test_a_map_of_many_keys_does_not_become_a_table_of_many_columns():
    values = [json.dumps({f"user_{n}": 1 for n in range(FIELDS_MAX + 50)}).encode()]
    columns, _, errors = decode(values)
    assert len(columns) == FIELDS_MAX and errors == [None]


def test_newlines_between_tokens_are_fine():
    assert decode([b'{\n "id":\n 1}\n', b'{"id":2}'])[1] == [{"id": 1}, {"id": 2}]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from(["a", "b", "c", "key"]), json_values, max_size=4)


@given(st.lists(st.one_of(objects.map(lambda o: json.dumps(o).encode()), st.binary(max_size=6)), max_size=12))
def test_whatever_comes_every_row_is_decoded_or_says_why(values):
    _, rows, errors = decode(values)
    assert len(rows) == len(errors) == len(values)
    for value, error in zip(values, errors, strict=True):
        if error is None:
            assert isinstance(json.loads(value), dict)


def test_auto_looks_at_the_first_values():
    assert chosen("auto", None, pa.array([b'{"a":1}'] * 10, pa.binary())) == "json"
    assert chosen("auto", None, pa.array([b'{"a":1}', b"plain", b"text"], pa.binary())) == "none"
    assert chosen("auto", None, EMPTY) == "none"
    assert decoder_of("none", NONE) is None


LINE = {"type": "record", "name": "Line", "fields": [{"name": "n", "type": "int"}]}
AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "timestamp", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "size", "type": {"type": "enum", "name": "Size", "symbols": ["S", "L"]}},
        {"name": "tags", "type": {"type": "map", "values": "int"}},
        {"name": "either", "type": ["int", "string"]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {
            "name": "lines",
            "type": {
                "type": "array",
                "items": {"type": "record", "name": "Line", "fields": [{"name": "n", "type": "int"}]},
            },
        },
    ],
}
ORDER = {
    "id": 1,
    "timestamp": datetime.datetime(2026, 11, 16, tzinfo=datetime.UTC),
    "note": "hello",
    "size": "L",
    "tags": {"a": 1},
    "either": 7,
    "price": Decimal("1.25"),
    "lines": [{"n": 1}, {"n": 2}],
}


@pytest.mark.parametrize("kind, frame", [("avro", b""), ("avro-framed", b"\0\0\0\0\7")])
def test_avro_by_its_schema(tmp_path, kind, frame):
    (tmp_path / "order.avsc").write_text(json.dumps(AVRO))
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, AVRO, ORDER)
    sound = frame + stream.getvalue()
    how = chosen(kind, tmp_path / "order.avsc", EMPTY)
    columns = first_columns(how, EMPTY)
    decoded = decoder_of(how, columns).decode(pa.array([sound, b"\1garbage", None, sound + b"more"], pa.binary()))
    row = pa.table(dict(zip(columns.names, decoded.columns, strict=True)), columns).to_pylist()[0]
    expected = {**ORDER, "value_timestamp": ORDER["timestamp"], "either": "7", "tags": [("a", 1)]}
    del expected["timestamp"]
    assert row == expected
    assert [bool(error) for error in decoded.errors.to_pylist()] == [False, True, False, True]


UNKNOWN_TYPE = '{"type":"record","name":"R","fields":[{"name":"x","type":"Nope"}]}'


@pytest.mark.parametrize("text", ["", "[]", '{"type": "record"}', '"string"', UNKNOWN_TYPE])
def test_a_schema_that_is_none_is_refused(tmp_path, text):
    (tmp_path / "bad.avsc").write_text(text)
    with pytest.raises(UserError, match="schema"):
        first_columns(chosen("avro", tmp_path / "bad.avsc", EMPTY), EMPTY)
