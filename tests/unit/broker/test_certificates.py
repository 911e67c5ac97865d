"""What may follow a certificate of ours while the broker runs."""

import pytest

from headrace.broker.security.certificates import OwnCertificate, change_refused

BEFORE = OwnCertificate(1.0, "CN=a", frozenset({"DNSName:a", "DNSName:b"}))
LATER = BEFORE._replace(expires_at=2.0)


def test_another_name_is_refused() -> None:
    other = LATER._replace(subject="CN=b")
    assert "ssl.allow.dn.changes" in change_refused(BEFORE, other, False, False)
    assert "ssl.allow.dn.changes" in change_refused(BEFORE, other, False, True)
    assert not change_refused(BEFORE, other, True, False)


def test_fewer_names_are_refused_and_more_are_not() -> None:
    fewer, more = (LATER._replace(names=names) for names in (frozenset({"DNSName:a"}), BEFORE.names | {"DNSName:c"}))
    assert "DNSName:b" in change_refused(BEFORE, fewer, True, False)
    assert not change_refused(BEFORE, fewer, False, True) and not change_refused(BEFORE, more, False, False)


@pytest.mark.parametrize(("before", "after"), [(None, LATER), (BEFORE, None)])
def test_one_that_nobody_can_read_is_refused(before: OwnCertificate | None, after: OwnCertificate | None) -> None:
    assert change_refused(before, after, True, False) and not change_refused(before, after, True, True)


def test_the_next_for_the_same_names_is_not() -> None:
    assert not change_refused(BEFORE, LATER, False, False)
