"""Scoped tokens: narrowed by anybody, widened by nobody."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.security.scoped_tokens import (
    BadToken,
    ScopedToken,
    is_genuine,
    narrowed,
    parse_name,
    parse_token,
    whole_token,
)

KEY = b"k" * 64
WHOLE = whole_token("id-1", KEY)
CAVEATS = st.one_of(
    st.builds(lambda name: {"may": [f"read topic {name}"]}, st.text(min_size=1, max_size=5)),
    st.builds(lambda until: {"until": until}, st.integers(0, 1 << 53)),
    st.just({"from": ["10.0.0.0/8"]}),
)


def text_of(payload: object, signature: bytes = bytes(32)) -> str:
    body = (
        payload if isinstance(payload, bytes) else json.dumps(payload, separators=(",", ":"), sort_keys=True).encode()
    )
    parts = (base64.urlsafe_b64encode(each).decode().rstrip("=") for each in (body, signature))
    return "hrt1." + ".".join(parts)


@given(st.lists(CAVEATS, max_size=3), st.lists(CAVEATS, max_size=3))
def test_a_token_that_is_narrowed_further_by_whoever_has_it_is_genuine(first, more) -> None:
    given_away = narrowed(WHOLE, first).text
    token = narrowed(parse_token(given_away), more)
    assert is_genuine(parse_token(token.text), KEY)
    assert parse_token(token.text).caveats == (*first, *more)
    assert parse_name(token.name) == token._replace(signature=b"")
    assert not is_genuine(token, b"other") and not is_genuine(token._replace(id="id-2"), KEY)


@given(st.lists(CAVEATS, min_size=1, max_size=4), st.data())
def test_no_caveat_can_be_taken_away_moved_or_changed(caveats, data) -> None:
    token = narrowed(WHOLE, caveats)
    place = data.draw(st.integers(0, len(caveats) - 1))
    without = token.caveats[:place] + token.caveats[place + 1 :]
    assert not is_genuine(token._replace(caveats=without), KEY)
    another = data.draw(CAVEATS.filter(lambda each: each != caveats[place]))
    assert not is_genuine(token._replace(caveats=(*caveats[:place], another, *caveats[place + 1 :])), KEY)
    mixed = tuple(data.draw(st.permutations(caveats)))
    assert is_genuine(token._replace(caveats=mixed), KEY) == (mixed == token.caveats)
    # The signature of a narrower token says nothing of the wider one.
    assert not is_genuine(ScopedToken(token.id, (), token.signature), KEY)


@given(st.lists(CAVEATS, max_size=2), st.data())
def test_a_flipped_bit_is_refused(caveats, data) -> None:
    text = bytearray(narrowed(WHOLE, caveats).text.encode())
    place = data.draw(st.integers(0, len(text) - 1))
    text[place] ^= 1 << data.draw(st.integers(0, 6))
    try:
        token = parse_token(text.decode("ascii"))
    except BadToken:
        return
    assert not is_genuine(token, KEY)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hrt1.",
        "hrt1..",
        "hrt1.x.y",
        "hrt2" + WHOLE.text[4:],
        WHOLE.text + ".",
        WHOLE.text + "=",
        WHOLE.text + "A",
        WHOLE.text[:-1],
        WHOLE.text.replace(".", "..", 1),
        WHOLE.text[:8] + "\n" + WHOLE.text[8:],
        " " + WHOLE.text,
        text_of({"id": "x"}),
        text_of({"id": 1, "caveats": []}),
        text_of({"id": "x y", "caveats": []}),
        text_of({"id": "x", "caveats": {}}),
        text_of({"id": "x", "caveats": [1]}),
        text_of({"id": "x", "caveats": [{}] * 33}),
        text_of({"id": "x", "caveats": [], "more": 1}),
        text_of(b'{"caveats": [],"id":"x"}'),
        text_of(b'{"caveats":[{"may":[]}],"caveats":[],"id":"x"}'),
        text_of(b'{"caveats":[{"until":NaN}],"id":"x"}'),
        text_of(b'{"caveats":[{"until":1e400}],"id":"x"}'),
        text_of(b'{"caveats":' + b"[" * 5_000 + b"]" * 5_000 + b',"id":"x"}'),
        text_of(b"[]"),
        text_of(b"\xff"),
        text_of({"id": "x", "caveats": []}, bytes(31)),
        text_of({"id": "x", "caveats": [{"may": ["x" * 20_000]}]}),
    ],
)
def test_other_forms_are_refused(text) -> None:
    with pytest.raises(BadToken) as refused:
        parse_token(text)
    assert "AAAAAAA" not in str(refused.value)


def test_a_caveat_that_nobody_understands_is_not_added_and_not_held_to_be_none() -> None:
    with pytest.raises(BadToken):
        narrowed(WHOLE, [{"on-mondays": True}])
    newer = parse_token(text_of({"caveats": [{"on-mondays": True}], "id": "id-1"}))
    with pytest.raises(BadToken):
        _ = newer.scope


def test_a_token_does_not_grow_without_end() -> None:
    token = narrowed(WHOLE, [{"until": 1}] * 32)
    with pytest.raises(BadToken):
        narrowed(token, [{"until": 1}])


def test_a_token_is_not_shown() -> None:
    assert "***" in repr(WHOLE) and "\\x" not in repr(WHOLE)
