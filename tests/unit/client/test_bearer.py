"""Tokens of OAUTHBEARER: options that name one, the message that carries it, and what is refused."""

from pathlib import Path

import pytest

from headrace.base.errors import Refused, UserError
from headrace.client.bearer import bearer_message, for_librdkafka, token_from
from headrace.client.properties import read_properties
from headrace.client.security import Sasl, security_from
from headrace.security.oauthbearer import parse_bearer

URL = "sasl.oauthbearer.token.endpoint.url"


def options(**more: str) -> dict[str, str]:
    given = {name.replace("_", "."): value for name, value in more.items()}
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER", **given}


def test_a_token_is_read_from_its_file_at_each_login(tmp_path: Path) -> None:
    file = tmp_path / "a token"
    source = token_from({URL: file.as_uri()})
    for text in ("abc.def-1", "newer"):
        file.write_text(f"{text}\n")
        assert source() == text
    file.unlink()
    with pytest.raises(Refused, match=f"{file}: no such file"):
        source()


def test_the_broker_reads_what_the_client_writes() -> None:
    message = bearer_message("abc.def-1", (("cluster", "a b"), ("pool", "1")))
    assert parse_bearer(message).token == "abc.def-1"
    assert b"\1cluster=a b\1pool=1\1\1" in message


@pytest.mark.parametrize("text", ["", "two words", "a\1auth=Bearer b", "ä"])
def test_what_is_no_token_is_not_sent(text: str) -> None:
    with pytest.raises(Refused, match="is none"):
        bearer_message(text)


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        ({}, "needs a token"),
        ({URL: "https://login.example/token"}, "is no file"),
        ({URL: "file://elsewhere/token"}, "is no file"),
        ({URL: "https://login.example/token", "sasl.oauthbearer.method": "oidc"}, "needs sasl.oauthbearer.client.id"),
        ({URL: "file:///t", "sasl.oauthbearer.extensions": "a"}, "is not NAME=VALUE"),
        ({URL: "file:///t", "sasl.oauthbearer.extensions": "auth=x"}, "is not NAME=VALUE"),
    ],
)
def test_options_that_cannot_be_used_are_told(more: dict[str, str], cause: str) -> None:
    with pytest.raises(UserError, match=cause):
        security_from({**options(), **more})


def test_the_java_clients_file_needs_no_user(tmp_path: Path) -> None:
    token, file = tmp_path / "token", tmp_path / "java.properties"
    token.write_text("abc")
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n"
        "sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;\n"
        f"{URL}={token.as_uri()}\n"
    )
    security = security_from(read_properties(str(file)))
    assert security and security.sasl and security.sasl.token and security.sasl.token() == "abc"


def test_librdkafka_is_given_a_callback_for_the_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("abc")
    told = for_librdkafka({**options(), URL: file.as_uri(), "sasl.oauthbearer.extensions": "a=1"})
    assert URL not in told and "sasl.oauthbearer.extensions" not in told
    token, _, _, extensions = told["oauth_cb"]("")
    assert (token, extensions) == ("abc", {"a": "1"})
    assert for_librdkafka({"sasl.mechanism": "PLAIN", "linger.ms": "5"}) == {
        "sasl.mechanism": "PLAIN",
        "linger.ms": "5",
    }


def test_a_login_shows_no_secret() -> None:
    assert "hidden" not in repr(Sasl("PLAIN", "al", "hidden"))
