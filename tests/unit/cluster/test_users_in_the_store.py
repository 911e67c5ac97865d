"""Users and secrets as records: names of any kind as keys, and values that no message shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.base.errors import UserError
from headrace.cluster.entities import ScramCredential, Secret, User
from headrace.cluster.image import Image
from headrace.cluster.records import decode, encode, parse_user_key, secret_key, user_key
from headrace.cluster.store import Change

ONE = User({"SCRAM-SHA-256": ScramCredential(b"salt", b"stored", b"server", 4096)})


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1))
def test_any_name_is_a_key(name: str) -> None:
    key = user_key(name)
    assert parse_user_key(key) == name
    assert key.count("/") == 1 and key.isascii() and key.isprintable()


def test_the_image_has_them() -> None:
    changes = [
        Change(user_key("a/b"), encode(ONE), 5),
        Change(user_key("gone"), encode(ONE), 5),
        Change(secret_key("salts"), encode(Secret(b"x" * 32)), 5),
    ]
    image = Image().apply(changes, 5)
    assert image.users["a/b"] == ONE._replace(revision=5)
    assert image.secrets == {"salts": Secret(b"x" * 32, 5)}
    later = image.apply([Change(user_key("gone"), None, 6)], 6)
    assert list(later.users) == ["a/b"]
    assert "salt'" not in repr(later) and "xxx" not in repr(later)


@pytest.mark.parametrize("key", [user_key("al"), secret_key("salts")])
def test_a_damaged_one_is_not_shown(key: str) -> None:
    with pytest.raises(UserError) as damaged:
        decode(key, b'{"v":1,"hidden":"abc"}', 1)
    assert key in damaged.value.cause and "abc" not in str(damaged.value)
    assert damaged.value.__cause__ is None
