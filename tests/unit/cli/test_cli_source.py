from pathlib import Path

import pytest

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.messages.source import LineShape, read_messages


def test_a_line_is_a_value() -> None:
    assert LineShape().parse(b"a:b")[:3] == (None, b"a:b", [])


def test_key_separator_splits_at_its_first_place() -> None:
    shape = LineShape(key_separator=b"::", headers=[("h", b"1")], partition=4)
    sent = shape.parse(b"k::v::w")
    assert (sent.key, sent.value, sent.headers, sent.partition) == (b"k", b"v::w", [("h", b"1")], 4)
    assert shape.parse(b"no key here")[:2] == (None, b"no key here")
    assert shape.parse(b"::v")[:2] == (b"", b"v")


def test_null_marker() -> None:
    shape = LineShape(key_separator=b":", null=b"NULL")
    assert shape.parse(b"k:NULL")[:2] == (b"k", None)
    assert shape.parse(b"NULL:v")[:2] == (None, b"v")
    assert shape.parse(b"k:NULL!")[:2] == (b"k", b"NULL!")


def test_json_value_may_be_json_itself() -> None:
    sent = LineShape(json_lines=True).parse(b'{"key": 7, "value": {"a": [1, 2]}}')
    assert (sent.key, sent.value) == (b"7", b'{"a":[1,2]}')


@pytest.mark.parametrize(
    "line", [b"{", b"[]", b"3", b'{"headers": [{}]}', b'{"value_base64": "?"}', b'{"headers": 3}', b"\xff"]
)
def test_what_is_no_message_is_refused(line: bytes) -> None:
    with pytest.raises(Failure) as refused:
        LineShape(json_lines=True).parse(line)
    assert refused.value.code is ExitCode.USAGE


def test_files_in_order_with_and_without_a_last_newline(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"one\n\ntwo")
    second.write_bytes(b"three\r\n")
    values = [sent.value for sent in read_messages([first, second], LineShape())]
    assert values == [b"one", b"", b"two", b"three\r"]
    assert [sent.value for sent in read_messages([first], LineShape(whole=True))] == [b"one\n\ntwo"]


def test_blank_lines_between_json_objects_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b'{"value": "a"}\n\n{"value": "b"}\n')
    assert [sent.value for sent in read_messages([path], LineShape(json_lines=True))] == [b"a", b"b"]
