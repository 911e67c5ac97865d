"""Failed logins of an address are bounded; those of others do not count."""

from headrace.gateway.callers.failed_logins import ADDRESSES_MAX, FAILED_TRIES_MAX, SECONDS_PER_TRY, FailedLogins


def used_up(address: str, now: float = 0.0) -> FailedLogins:
    failed = FailedLogins()
    for _ in range(FAILED_TRIES_MAX):
        assert failed.count(address, now) == 0
    return failed


def test_so_many_at_once_and_then_one_now_and_then():
    failed = used_up("10.0.0.1")
    assert failed.count("10.0.0.1", 0.0) == SECONDS_PER_TRY
    assert failed.count("10.0.0.2", 0.0) == 0
    assert failed.count("10.0.0.1", SECONDS_PER_TRY) == 0
    assert failed.count("10.0.0.1", SECONDS_PER_TRY) > 0


def test_a_login_that_succeeds_does_not_count():
    failed = FailedLogins()
    for _ in range(10 * FAILED_TRIES_MAX):
        assert failed.count("10.0.0.1", 0.0) == 0
        failed.forgive("10.0.0.1", 0.0)


def test_one_host_has_many_addresses_of_ipv6():
    assert used_up("2001:db8::1").count("2001:db8::2%eth0", 0.0) > 0
    assert used_up("2001:db8::1").count("2001:db8:0:1::1", 0.0) == 0
    assert used_up("::ffff:10.0.0.1").count("10.0.0.1", 0.0) > 0


def test_memory_is_bounded():
    failed = FailedLogins()
    for number in range(ADDRESSES_MAX + 100):
        failed.count(f"host-{number}", 0.0)
    assert len(failed._levels) == ADDRESSES_MAX
