"""What an etcd URL means, and how a wrong one is refused."""

import pytest

from headrace.base.errors import UserError
from headrace.stores.etcd_url import PASSWORD_VARIABLE, Endpoint, EtcdUrl, TlsFiles, parse_etcd_url


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("etcd://a:1", EtcdUrl((Endpoint("a", 1),), "/headrace")),
        ("etcd://a", EtcdUrl((Endpoint("a", 2379),), "/headrace")),
        ("etcd://a:1/", EtcdUrl((Endpoint("a", 1),), "/headrace")),
        ("etcd://a:1,b:2,c/x/y/", EtcdUrl((Endpoint("a", 1), Endpoint("b", 2), Endpoint("c", 2379)), "/x/y")),
        ("etcd://[::1]:1,[fe80::2]/x", EtcdUrl((Endpoint("::1", 1), Endpoint("fe80::2", 2379)), "/x")),
        ("etcd://u:p%40%2Fq@a:1/x", EtcdUrl((Endpoint("a", 1),), "/x", "u", "p@/q")),
        ("etcds://a:1/x", EtcdUrl((Endpoint("a", 1),), "/x", tls=TlsFiles())),
        ("etcds://a:1/x?ca=1.pem", EtcdUrl((Endpoint("a", 1),), "/x", tls=TlsFiles("1.pem"))),
        ("etcds://a?cert=c&key=k", EtcdUrl((Endpoint("a", 2379),), "/headrace", tls=TlsFiles(None, "c", "k"))),
    ],
)
def test_what_a_url_means(text: str, meant: EtcdUrl) -> None:
    assert parse_etcd_url(text, {PASSWORD_VARIABLE: "not asked for"}) == meant


def test_a_password_from_the_environment() -> None:
    assert parse_etcd_url("etcd://u@a", {PASSWORD_VARIABLE: "secret%41"}).password == "secret%41"
    assert parse_etcd_url("etcd://u:other@a", {PASSWORD_VARIABLE: "secret"}).password == "other"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("etcd:a:1", "not an etcd URL"),
        ("etcd://", "not an etcd URL"),
        ("http://a:1", "not an etcd URL"),
        ("etcd://a:1#x", "not an etcd URL"),
        ("etcd://a:1,", "'' is not HOST:PORT"),
        ("etcd://a:x", "'a:x' is not HOST:PORT"),
        ("etcd://a:", "'a:' is not HOST:PORT"),
        ("etcd://a:0", "'a:0' is not HOST:PORT"),
        ("etcd://a:70000", "'a:70000' is not HOST:PORT"),
        ("etcd://:1", "':1' is not HOST:PORT"),
        ("etcd://a/x//y", "not a path of names"),
        ("etcd://a/x%00", "not a path of names"),
        ("etcd://a/x?ca=1", "takes no options"),
        ("etcds://a/x?cA=1", "unknown option cA"),
        ("etcds://a/x?cert=1", "cert and key belong together"),
    ],
)
def test_a_wrong_url_is_refused_with_a_fix(text: str, cause: str) -> None:
    with pytest.raises(UserError, match=cause) as refused:
        parse_etcd_url(text)
    assert refused.value.fix


@pytest.mark.parametrize("text", ["etcd://u:secret@a:x", "etcd://u:secret@a?ca=1", "http://u:secret@a"])
def test_no_message_shows_a_password(text: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_etcd_url(text)
    assert "secret" not in str(refused.value)


def test_a_url_is_shown_without_its_password() -> None:
    assert str(parse_etcd_url("etcd://u:secret@a:1,[::1]:2/x")) == "etcd://a:1,[::1]:2/x"


def test_tls_files_that_are_missing_are_named() -> None:
    with pytest.raises(UserError, match=r"etcds://a:2379/headrace: .*No such file") as refused:
        parse_etcd_url("etcds://a?ca=nowhere.pem").tls_context()
    assert "ca=" in refused.value.fix
