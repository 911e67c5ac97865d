"""Names of slots: no two users share one, whatever they are called."""

import re

import pytest

from headrace.gateway.idempotency.slot_names import EVERYBODYS, names_of


def test_a_user_has_names_of_his_own() -> None:
    assert names_of("al").topic == "_headrace_idempotency.al"
    assert names_of("al").transactional_id(1) == "headrace-rest.al.1"


@pytest.mark.parametrize("user", ["", ".", "a b", "CN=al,O=x", "ä", "x" * 200, "a\n", "https://issuer|1"])
def test_any_name_is_one_that_a_topic_can_have(user: str) -> None:
    found = names_of(user).topic
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,249}", found) and found.startswith(f"{EVERYBODYS.topic}.hash-")
    assert names_of(found.removeprefix(f"{EVERYBODYS.topic}.")).topic != found, (
        "nobody is called like the hash of another"
    )
