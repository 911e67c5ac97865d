import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.failure import Failure
from headrace.cli.messages.message import ShownMessage, compile_format, to_json, unescape
from headrace.cli.messages.source import LineShape

MESSAGE = ShownMessage("orders", 2, 41, 1769860800000, b"k", b"v\xff", [("a", b"1"), ("b", None)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"%v\n", b"v\xff\n"),
        ("%s", b"v\xff"),
        (r"%t-%p@%o\t%T", b"orders-2@41\t1769860800000"),
        ("%k=%v %K %S", b"k=v\xff 1 2"),
        ("%h", b"a=1,b="),
        ("100%% %%k", b"100% %k"),
        ("plain", b"plain"),
        ("", b""),
    ],
)
def test_formats(text: str, expected: bytes) -> None:
    assert compile_format(text)(MESSAGE) == expected


def test_null_is_shown_as_asked() -> None:
    null = MESSAGE._replace(key=None, value=None)
    assert compile_format("%k %v %h %K %S", b"NULL")(null) == b"NULL NULL a=1,b=NULL -1 -1"


@pytest.mark.parametrize("text", ["%q", "%", "a %"])
def test_unknown_placeholder_is_refused(text: str) -> None:
    with pytest.raises(Failure, match="is not known"):
        compile_format(text)


def test_escapes() -> None:
    assert unescape(r"a\tb\n\\\0\x1f\xFF\q\\"[:-1]) == b"a\tb\n\\\0\x1f\xff\\q\\"


@pytest.mark.parametrize("text", [r"\xg1", r"\x1", r"\x"])
def test_bad_hexadecimal_is_refused(text: str) -> None:
    with pytest.raises(Failure, match="hexadecimal"):
        unescape(text)


maybe_bytes = st.none() | st.binary(max_size=20)


@given(maybe_bytes, maybe_bytes, st.lists(st.tuples(st.text(max_size=5), maybe_bytes), max_size=3))
def test_json_form_loses_nothing(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]]
) -> None:
    line = to_json(ShownMessage("t", 1, 2, 3, key, value, headers))
    assert line.count(b"\n") == 1
    back = LineShape(json_lines=True).parse(line.rstrip(b"\n"))
    assert (back.key, back.value, back.headers, back.partition, back.timestamp) == (key, value, headers, 1, 3)


def test_binary_is_marked_in_json() -> None:
    shown = json.loads(to_json(MESSAGE))
    assert shown["key"] == "k"
    assert shown["value_base64"] == "dv8="
    assert "value" not in shown
