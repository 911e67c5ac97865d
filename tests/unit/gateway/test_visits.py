"""Visits of browsers: known by a cookie alone, ended in time, bounded."""

import asyncio

from headrace.gateway.callers.credential import Credential
from headrace.gateway.callers.visits import VISITS_MAX, VISITS_PER_LOGIN_MAX, Visits

AL = Credential("al", "secret")


def scope(cookie: str) -> dict:
    return {"headers": [(b"cookie", cookie.encode())]}


def in_loop(test):
    async def run():
        test()

    return lambda: asyncio.run(run())


@in_loop
def test_a_visit_is_known_by_its_cookie():
    visits = Visits(60, is_secure=False)
    text = visits.begin(AL)
    assert text.endswith("; Path=/; HttpOnly; SameSite=Strict")
    visit = visits.of(scope(f"other=1; {text.partition(';')[0]}"))
    assert visit is not None and visit.credential == AL and visit.is_own(visit.token)
    assert not visit.is_own("") and not visit.is_own("ä")
    for cookie in ("", "headrace=", "headrace=guess", f"HEADRACE={visit.token}", "="):
        assert visits.of(scope(cookie)) is None
    visits.end(visit)
    assert visits.of(scope(text.partition(";")[0])) is None


@in_loop
def test_over_https_the_cookie_is_kept_to_it_and_to_this_host():
    text = Visits(60, is_secure=True).begin(AL)
    assert text.startswith("__Host-headrace=") and "; Secure" in text and "Domain" not in text


@in_loop
def test_a_visit_that_is_not_used_ends_and_its_pages_are_told():
    visits, ended = Visits(0.0, is_secure=False), []
    visits.on_end = ended.append
    cookie = visits.begin(AL).partition(";")[0]
    assert visits.of(scope(cookie)) is None
    visits.begin(Credential("bo", "x"))
    assert [each.credential for each in ended] == [AL]


@in_loop
def test_a_page_that_is_open_is_a_use():
    visits = Visits(1e-9, is_secure=False)
    cookie = visits.begin(AL).partition(";")[0]
    (visit,) = visits._visits.values()
    with visit.used():
        assert visits.of(scope(cookie)) is visit
    assert visits.of(scope(cookie)) is None


@in_loop
def test_there_are_so_many_at_most():
    visits, ended = Visits(60, is_secure=False), []
    visits.on_end = ended.append
    for number in range(VISITS_MAX + 2):
        visits.begin(Credential(f"user-{number}", "x"))
    assert len(visits._visits) == VISITS_MAX and len(ended) == 2


@in_loop
def test_one_login_does_not_end_the_visits_of_others():
    visits = Visits(60, is_secure=False)
    others = visits.begin(Credential("bo", "x")).partition(";")[0]
    for _ in range(VISITS_MAX + 2):
        own = visits.begin(AL).partition(";")[0]
    assert visits.of(scope(others)) is not None and visits.of(scope(own)) is not None
    assert len(visits._visits) == VISITS_PER_LOGIN_MAX + 1


@in_loop
def test_a_visit_with_open_pages_goes_last():
    visits = Visits(60, is_secure=False)
    first = visits.begin(AL).partition(";")[0]
    (visit,) = visits._visits.values()
    with visit.used():
        for number in range(VISITS_MAX + 2):
            visits.begin(Credential(f"user-{number}", "x"))
        assert visits.of(scope(first)) is visit


@in_loop
def test_a_cookie_of_somebody_else_hides_no_visit():
    visits = Visits(60, is_secure=False)
    own = visits.begin(AL).partition(";")[0]
    assert visits.of(scope(f'theirs={{"a": 1}}; {own}')) is not None


@in_loop
def test_all_visits_of_a_login_end_with_it():
    visits = Visits(60, is_secure=False)
    cookies = [visits.begin(each).partition(";")[0] for each in (AL, AL, Credential("al", "other"))]
    visits.end_all_of(AL)
    assert [visits.of(scope(each)) is None for each in cookies] == [True, True, False]
