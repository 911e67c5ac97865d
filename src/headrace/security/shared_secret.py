"""The secret that brokers share so that all of them invent the same salts for users who do not exist."""

from typing import Final

from headrace.cluster.entities import Secret
from headrace.cluster.image import Image
from headrace.cluster.records import encode, secret_key
from headrace.cluster.store import ABSENT, Commit

SALTS: Final = "salts"
SECRET_BYTES: Final = 32


def make_secret(image: Image, fresh: bytes) -> list[Commit]:
    """Nothing, when there is one already: brokers that start together keep the one that was first."""
    assert len(fresh) == SECRET_BYTES, len(fresh)
    if SALTS in image.secrets:
        return []
    key = secret_key(SALTS)
    return [Commit({key: encode(Secret(fresh))}, {key: ABSENT})]
