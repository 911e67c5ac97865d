"""Secrets that brokers share: the one that all of them invent salts from for users who do not exist, and that of tokens."""

from typing import Final

from headrace.cluster.entities import Secret
from headrace.cluster.image import Image
from headrace.cluster.records import encode, secret_key
from headrace.cluster.store import ABSENT, Commit

SALTS: Final = "salts"
SECRET_BYTES: Final = 32


def make_secret(image: Image, name: str, fresh: bytes) -> list[Commit]:
    """Nothing, when there is one already: brokers that start together keep the one that was first."""
    assert len(fresh) == SECRET_BYTES, len(fresh)
    if name in image.secrets:
        return []
    key = secret_key(name)
    return [Commit({key: encode(Secret(fresh))}, {key: ABSENT})]
