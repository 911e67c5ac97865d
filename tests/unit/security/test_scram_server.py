"""SCRAM's server: the exchange of the RFC, a client written by others, and every way of not knowing the password."""

import pytest
import scramp
from hypothesis import given
from hypothesis import strategies as st

from headrace.client.scram import ScramClient
from headrace.cluster.entities import User
from headrace.security.credentials import (
    DIGESTS,
    SHA_256,
    Credentials,
    credential_from,
    salted_password,
)
from headrace.security.refusal import LoginRefused
from headrace.security.scram import ScramServer, decode_name, parse_first

NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20)
SALT = b"a salt of some bytes"


def known_user(mechanism: str, password: str) -> User:
    return User({mechanism: credential_from(mechanism, salted_password(mechanism, password, SALT, 4096), SALT, 4096)})


def server_of(mechanism: str, users: dict[str, User], nonce: str = "ours") -> ScramServer:
    credentials = Credentials(users, b"secret")
    return ScramServer(
        mechanism,
        lambda name, is_token: (credentials.of_nobody if is_token else credentials.of)(name, mechanism),
        nonce,
    )


def logged_in(mechanism: str, users: dict[str, User], name: str, password: str, bare_extension: str = "") -> str:
    """The user that a foreign client is logged in as."""
    client = scramp.ScramClient([mechanism], name, password, c_nonce="theirs")
    server = server_of(mechanism, users)
    first = client.get_client_first() + bare_extension
    client.set_server_first(server.answer_first(first.encode()).decode())
    client.set_server_final(server.answer_final(client.get_client_final().encode()).decode())
    return server.user


def test_the_exchange_of_the_rfc() -> None:
    salt = bytes.fromhex("5b6d99689d12358eec a04b141236fa81".replace(" ", ""))
    credential = credential_from(SHA_256, salted_password(SHA_256, "pencil", salt, 4096), salt, 4096)
    nonce = "rOprNGfwEbeRWgbNEkqO"
    server = ScramServer(SHA_256, lambda *_: credential, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    first = server.answer_first(f"n,,n=user,r={nonce}".encode())
    assert first == b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    proof = b"dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    final = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=" + proof
    assert server.answer_final(final) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.mark.parametrize("mechanism", DIGESTS)
@given(name=NAMES, password=st.text(st.characters(categories=("L", "N"), max_codepoint=126), min_size=1, max_size=20))
def test_a_foreign_client_logs_in(mechanism: str, name: str, password: str) -> None:
    """Names with commas and equal signs among them."""
    try:
        client = scramp.ScramClient([mechanism], name, password)
    except scramp.ScramException:
        return  # a name that the client cannot write
    written = client.get_client_first().split(",n=", 1)[1].rsplit(",r=", 1)[0]
    users = {decode_name(written): known_user(mechanism, password)}
    assert logged_in(mechanism, users, name, password) == decode_name(written)


@pytest.mark.parametrize(
    ("name", "password"), [("al", "wrong"), ("nobody", "right"), ("AL", "right"), ("al ", "right")]
)
@pytest.mark.parametrize("mechanism", DIGESTS)
def test_who_does_not_know_the_password_is_refused_at_the_end(mechanism: str, name: str, password: str) -> None:
    users = {"al": known_user(mechanism, "right")}
    assert logged_in(mechanism, users, "al", "right") == "al"
    with pytest.raises(LoginRefused, match="unknown, or the password is wrong"):
        logged_in(mechanism, users, name, password)


def first_answer(users: dict[str, User], name: str) -> dict[str, str]:
    answer = server_of(SHA_256, users).answer_first(f"n,,n={name},r=theirs".encode()).decode()
    return dict(part.split("=", 1) for part in answer.split(","))


def test_a_user_who_does_not_exist_looks_like_any_other() -> None:
    """The same salt each time, another for another name, and as long as those of real users."""
    users = {"al": known_user(SHA_256, "right")}
    real, one, again, other = (first_answer(users, name) for name in ("al", "bo", "bo", "cy"))
    assert one == again and one["s"] != other["s"] and one["s"] != real["s"]
    assert len(one["s"]) == len(real["s"]) and one["i"] == real["i"]


def test_a_user_of_another_mechanism_is_unknown_in_this_one() -> None:
    users = {"al": known_user("SCRAM-SHA-512", "right")}
    with pytest.raises(LoginRefused):
        logged_in(SHA_256, users, "al", "right")


def test_a_token_is_not_taken_for_a_user() -> None:
    server = server_of(SHA_256, {"al": known_user(SHA_256, "right")})
    client = scramp.ScramClient([SHA_256], "al", "right", c_nonce="theirs")
    first = client.get_client_first()
    server.answer_first(f"{first},tokenauth=true".encode())
    client.set_server_first(server.answer_first(f"{first},tokenauth=true".encode()).decode())
    with pytest.raises(LoginRefused):
        server.answer_final(client.get_client_final().encode())


def test_unknown_extensions_are_ignored() -> None:
    first = parse_first(b"n,,n=al,r=abc,x=1,tokenauth=false")
    assert (first.user, first.nonce, first.is_token, first.bare) == (
        "al",
        "abc",
        False,
        "n=al,r=abc,x=1,tokenauth=false",
    )


class OldLibrdkafka(ScramClient):
    """The client of librdkafka before 2.6.1, as Debian's kcat has it: its own nonce stands twice in its last message."""

    def _parse(self, server_first: bytes) -> tuple[str, bytes, int]:
        nonce, salt, iterations = super()._parse(server_first)
        return self._nonce + nonce, salt, iterations


def test_old_librdkafka_logs_in_with_the_right_password_alone() -> None:
    users = {"al": known_user(SHA_256, "right")}
    for password in ("right", "wrong"):
        client, server = OldLibrdkafka("sha256", "al", password), server_of(SHA_256, users)
        final = client.final_message(server.answer_first(client.first_message()))
        if password == "right":
            assert client.is_server_known(server.answer_final(final))
        else:
            with pytest.raises(LoginRefused, match="password is wrong"):
                server.answer_final(final)


def test_a_replay_is_refused() -> None:
    """Messages of one login are worth nothing in the next, which has another nonce."""
    users = {"al": known_user(SHA_256, "right")}
    client, server = scramp.ScramClient([SHA_256], "al", "right"), server_of(SHA_256, users, "first")
    first = client.get_client_first().encode()
    client.set_server_first(server.answer_first(first).decode())
    final = client.get_client_final().encode()
    server.answer_final(final)
    later = server_of(SHA_256, users, "second")
    later.answer_first(first)
    with pytest.raises(LoginRefused, match="another nonce"):
        later.answer_final(final)


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"n",
        b"n,,",
        b"n,,n=al",
        b"n,,r=abc,n=al",
        b"n,,n=,r=abc",
        b"n,,n=al,r=",
        b"n,,n=al,r=a b",
        b"n,,n=a=l,r=abc",
        b"n,,n=a=2cl,r=abc",
        b"n,,m=ext,n=al,r=abc",
        b"x,,n=al,r=abc",
        b"p=tls-unique,,n=al,r=abc",
        b"n,al,n=al,r=abc",
        b"n,a=bo,n=al,r=abc",
        b"\xff,,n=al,r=abc",
        b"\0al\0secret",
    ],
)
def test_a_first_message_that_is_none(first: bytes) -> None:
    with pytest.raises(LoginRefused):
        server_of(SHA_256, {}).answer_first(first)


def test_an_authorization_id_may_be_the_user() -> None:
    assert parse_first(b"n,a=a=2Cl,n=a=2Cl,r=abc").user == "a,l"
    assert parse_first(b"y,,n=al,r=abc").binding == b"y,,"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"c=biws", b"c=eSws"),  # y,, after n,,
        (b"c=biws", b"c="),
        (b"r=theirs", b"r=ours"),
        (b",p=", b",q="),
        (b",p=", b",p=AAAA,p="),
        (b",p=", b",p=AAAA"),
        (b",p=", b",x=1,p="),
    ],
)
def test_a_last_message_that_was_changed(before: bytes, after: bytes) -> None:
    client = scramp.ScramClient([SHA_256], "al", "right", c_nonce="theirs")
    server = server_of(SHA_256, {"al": known_user(SHA_256, "right")})
    client.set_server_first(server.answer_first(client.get_client_first().encode()).decode())
    final = client.get_client_final().encode()
    assert before in final
    with pytest.raises(LoginRefused):
        server.answer_final(final.replace(before, after, 1))


@given(st.binary(max_size=60))
def test_no_bytes_do_anything_else_than_be_refused(message: bytes) -> None:
    server = server_of(SHA_256, {})
    try:
        server.answer_first(message)
    except LoginRefused:
        server.answer_first(b"n,,n=al,r=abc")
    with pytest.raises(LoginRefused):
        server.answer_final(message)
