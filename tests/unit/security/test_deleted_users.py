"""Users who are deleted: their tokens end with them, and nobody else's."""

from headrace.cluster.entities import ScramCredential, Token, User
from headrace.cluster.image import Image
from headrace.cluster.records import encode, token_key, user_key
from headrace.cluster.store import Change
from headrace.security.users import Deletion, alter_users

CREDENTIAL = ScramCredential(b"salt", b"stored", b"server", 4096)


def token(id: str, owner: str) -> Token:
    return Token(id, owner, owner, (), 0, 10, 10, "f")


def image(*mechanisms: str) -> Image:
    user = User(dict.fromkeys(mechanisms, CREDENTIAL))
    tokens = [token("t1", "User:al"), token("t2", "User:bo"), token("t3", "User:al")]
    changes = [Change(token_key(each.id), encode(each), 5) for each in tokens]
    return Image().apply([*changes, Change(user_key("al"), encode(user), 5)], 5)


def changed(before: Image, mechanism: int) -> set[str]:
    return {key for commit in alter_users(before, [Deletion("al", mechanism)]).commits for key in commit.puts}


def test_with_the_last_credential_go_the_tokens() -> None:
    assert changed(image("SCRAM-SHA-256"), 1) == {user_key("al"), token_key("t1"), token_key("t3")}


def test_a_user_who_keeps_a_credential_keeps_the_tokens() -> None:
    assert changed(image("SCRAM-SHA-256", "SCRAM-SHA-512"), 1) == {user_key("al")}
