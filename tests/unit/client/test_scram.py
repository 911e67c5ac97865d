"""SCRAM's client: the exchange of the RFC, and servers that do not keep to it."""

import pytest

from headrace.base.errors import Refused
from headrace.client.scram import ScramClient, scram_digest

# The example of RFC 7677, section 3.
NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def client() -> ScramClient:
    return ScramClient(scram_digest("SCRAM-SHA-256"), "user", "pencil", NONCE)


def test_the_exchange_of_the_rfc():
    scram = client()
    assert scram.first_message() == b"n,,n=user,r=" + NONCE.encode()
    assert scram.final_message(SERVER_FIRST) == CLIENT_FINAL
    assert scram.is_server_known(SERVER_FINAL)


@pytest.mark.parametrize("final", [b"", b"v=", b"e=other-error", b"v=AAAA", SERVER_FINAL[:-4]])
def test_a_server_that_does_not_know_the_password(final):
    scram = client()
    scram.final_message(SERVER_FIRST)
    assert not scram.is_server_known(final)


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"\xff\xfe",
        b"r=somebody-elses,s=W22Z,i=4096",
        SERVER_FIRST.replace(b"i=4096", b"i=0"),
        SERVER_FIRST.replace(b"i=4096", b"i=99999999999"),
        SERVER_FIRST.replace(b"s=W22Z", b"s=!"),
    ],
)
def test_a_first_message_that_is_none(first):
    with pytest.raises(Refused):
        client().final_message(first)


def test_signs_in_a_name_are_written_out():
    assert ScramClient("sha256", "a=b,c", "x", "n").first_message() == b"n,,n=a=3Db=2Cc,r=n"
