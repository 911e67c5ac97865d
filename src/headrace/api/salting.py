"""Salted keys: the messages of one hot key spread over several partitions, and found again by its readers.

A salt gives up the order between the messages of that key; those with the same salt keep theirs.
"""

import random

_MARK = b"#"


def salted(key: str | bytes, salts: int, salt: int | None = None) -> bytes:
    """The key with one of `salts` salts: a given one (say, a hash of what must stay in order), or any."""
    if salts < 1:
        raise ValueError(f"salts is {salts}: a key needs at least one")
    number = random.randrange(salts) if salt is None else salt % salts
    return (key.encode() if isinstance(key, str) else key) + _MARK + str(number).encode()


def unsalted(key: bytes) -> bytes:
    """The key as it was before `salted`; one without a salt is returned as it is."""
    bare, mark, number = key.rpartition(_MARK)
    return bare if mark and number.isdigit() else key
