from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer

from headrace.base.errors import UserError
from headrace.client.properties import exposure, parse_properties, read_properties
from headrace.client.property_names import LIBRDKAFKA_NAMES, is_secret, security_only

SECRET = "do-not-show-me"


def written(folder: Path, text: str) -> str:
    path = folder / "client.properties"
    path.write_text(text)
    return str(path)


def test_a_file_of_librdkafka(tmp_path: Path) -> None:
    text = "# who we are\n\nsecurity.protocol = SASL_SSL\nsasl.username=app\n  sasl.password=a=b#c \nlinger.ms=5\n"
    assert read_properties(written(tmp_path, text)) == {
        "security.protocol": "SASL_SSL",
        "sasl.username": "app",
        "sasl.password": "a=b#c",
        "linger.ms": "5",
    }


def test_the_java_clients_spelling_becomes_librdkafkas(tmp_path: Path) -> None:
    text = (
        'sasl.jaas.config=org.x.ScramLoginModule required username="app" password="a\\"b";\n'
        "ssl.truststore.type=PEM\nssl.truststore.location=/ca.pem\n"
        "ssl.keystore.type=PEM\nssl.keystore.location=/me.pem\nssl.key.password=k\n"
    )
    assert read_properties(written(tmp_path, text)) == {
        "sasl.username": "app",
        "sasl.password": 'a"b',
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/me.pem",
        "ssl.key.location": "/me.pem",
        "ssl.key.password": "k",
    }


@pytest.mark.parametrize(
    ("text", "cause", "fix"),
    [
        ("a\nsecurity.protocol\n", ":1: this line is not NAME=VALUE", "security.protocol=SASL_SSL"),
        (f"sasl.passwrod={SECRET}", ":1: there is no setting sasl.passwrod", "did you mean sasl.password?"),
        (
            f"sasl.password={SECRET}\nsasl.password=x",
            ":2: sasl.password stands there twice, first in line 1",
            "one out",
        ),
        (f"{SECRET}", ":1: this line is not NAME=VALUE", ""),
        (f"sasl.jaas.config=x required password='{SECRET}';", "names no username", "sasl.username"),
        ("ssl.truststore.location=a.jks", "is a Java format", "ssl.ca.location"),
    ],
)
def test_what_is_wrong_is_told_without_a_value(tmp_path: Path, text: str, cause: str, fix: str) -> None:
    with pytest.raises(UserError) as refused:
        read_properties(written(tmp_path, text))
    assert cause in refused.value.cause
    assert fix in refused.value.fix
    assert SECRET not in str(refused.value)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(UserError, match="/nowhere/x: no such file") as refused:
        read_properties("/nowhere/x")
    assert "HEADRACE_CONFIG" in refused.value.fix


def test_a_secret_that_others_may_read_is_told(tmp_path: Path) -> None:
    path = Path(written(tmp_path, f"sasl.password={SECRET}"))
    settings = read_properties(str(path))
    path.chmod(0o640)
    warning = exposure(str(path), settings)
    assert warning is not None
    assert warning.fix == f"chmod 600 {path}"
    assert exposure(str(path), {"security.protocol": "SSL"}) is None
    path.chmod(0o600)
    assert exposure(str(path), settings) is None


def test_every_name_is_one_that_librdkafka_knows() -> None:
    """A value that cannot be is refused in other words than a name."""
    for name in LIBRDKAFKA_NAMES:
        try:
            Producer({name: "\x01"})
        except (KafkaException, TypeError, ValueError) as error:
            assert "No such configuration property" not in str(error), name


def test_which_settings_are_secret() -> None:
    names = {name for name in (*LIBRDKAFKA_NAMES, "sasl.jaas.config", "ssl.keystore.key") if is_secret(name)}
    assert names == {
        "sasl.jaas.config",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.private.key.pem",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.config",
        "sasl.password",
        "ssl.key.password",
        "ssl.key.pem",
        "ssl.keystore.key",
        "ssl.keystore.password",
    }


def test_what_is_of_security() -> None:
    settings = parse_properties("f", "bootstrap.servers=a:1\nsasl.username=u\nssl.ca.location=c\nacks=1")
    assert security_only(settings) == {"sasl.username": "u", "ssl.ca.location": "c"}
