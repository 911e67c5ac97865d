"""Secrets of webhooks that are sealed with a key from a file; records without one are read as before."""

import base64

import pytest
from some_webhook import hook

from headrace.base.errors import UserError
from headrace.gateway.webhooks.ledger import Ledger
from headrace.gateway.webhooks.sealed_secrets import CannotOpen, SecretKeys, secret_keys
from headrace.gateway.webhooks.subscription import (
    Mandate,
    change_record,
    changed_by,
    from_record,
    mandate_record,
)
from headrace.wire.records import Record

OLD, NEW = b"o" * 32, b"n" * 32


def test_a_sealed_record_shows_no_secret_and_opens_with_its_key():
    made, keys = hook("wh-1"), SecretKeys([NEW])
    record = made.to_record(keys)
    assert b"c2VjcmV0" not in record
    assert from_record(record, keys) == made
    assert from_record(made.to_record(), keys) == from_record(made.to_record()) == made


def test_a_new_key_goes_in_front_of_the_old_one():
    sealed = hook("wh-1").to_record(SecretKeys([OLD]))
    assert from_record(sealed, SecretKeys([NEW, OLD])) == hook("wh-1")
    for keys in (None, SecretKeys([NEW])):
        with pytest.raises(CannotOpen):
            from_record(sealed, keys)


def test_a_sealed_secret_belongs_to_its_webhook():
    keys = SecretKeys([NEW])
    sealed = keys.seal("wh-1", "secret")
    assert keys.open("wh-1", sealed) == "secret"
    name, _, text = sealed.partition(".")
    changed = base64.b64encode(base64.b64decode(text)[:-1] + b"x").decode()
    for id, wrong in (("wh-2", sealed), ("wh-1", f"{name}.{changed}"), ("wh-1", f"{name}.!"), ("wh-1", "")):
        with pytest.raises(CannotOpen):
            keys.open(id, wrong)


def test_what_cannot_be_opened_is_told_and_left_alone(caplog):
    ledger = Ledger(lambda *_: None)
    ledger.apply(Record(7, 0, b"wh-1", hook("wh-1").to_record(SecretKeys([NEW]))))
    assert not ledger.subscriptions
    assert "webhook_keys" in caplog.text and "c2VjcmV0" not in caplog.text


def test_with_a_key_a_plain_secret_is_taken_from_before_only(caplog):
    ledger = Ledger(lambda *_: None, SecretKeys([NEW]))
    ledger.apply(Record(1, 0, b"wh-1", hook("wh-1").to_record()))
    assert ledger.plain == {"wh-1"} and ledger.subscriptions["wh-1"] == hook("wh-1")
    ledger.takes_plain = False
    ledger.apply(Record(2, 0, b"wh-2", hook("wh-2").to_record()))
    assert set(ledger.subscriptions) == {"wh-1"}
    assert "webhook_keys" in caplog.text and "c2VjcmV0" not in caplog.text


def test_a_record_that_is_sealed_changes_nothing_else():
    keys = SecretKeys([NEW])
    ledger = Ledger(lambda *_: None, keys)
    ledger.apply(Record(1, 0, b"wh-1", hook("wh-1").to_record()))
    ledger.apply(Record(2, 0, b"wh-1/state", change_record("state", "paused")))
    ledger.apply(Record(3, 0, b"wh-1", hook("wh-1").to_record(keys)))
    assert ledger.subscriptions["wh-1"].state == "paused" and not ledger.plain


def test_a_mandate_opens_in_its_own_webhook_only():
    keys, mandate = SecretKeys([NEW]), Mandate("al", "t-1", "hrt1.name.signature", 5)
    made = hook("wh-1").with_mandate(mandate)
    record = made.to_record(keys)
    assert b"hrt1." not in record and "hrt1." not in repr(made)
    assert from_record(record, keys) == made
    for changed in (record.replace(b"example.com", b"example.org"), record.replace(b'"orders"', b'"others"')):
        assert changed != record
        with pytest.raises(CannotOpen):
            from_record(changed, keys)
    later = mandate._replace(token="hrt1.later.signature")
    change = mandate_record(made, later, keys)
    assert b"hrt1." not in change
    assert changed_by(made, "mandate", change, keys) == made.with_mandate(later)


def test_the_file(tmp_path):
    path = tmp_path / "keys"
    assert secret_keys("") is None
    path.write_text("\n".join(base64.b64encode(key).decode() for key in (NEW, OLD)) + "\n")
    keys = secret_keys(str(path))
    assert keys is not None
    assert keys.open("a", SecretKeys([OLD]).seal("a", "x")) == "x"
    for text in ("", "short", base64.b64encode(b"short").decode()):
        path.write_text(text)
        with pytest.raises(UserError, match="32 bytes"):
            secret_keys(str(path))
    with pytest.raises(UserError, match="cannot be read"):
        secret_keys(str(tmp_path / "none"))
