"""Headrace's own client at a broker that asks for logins: by a token of a file or a callable, and past a login's end."""

import asyncio
import time
from pathlib import Path

import pytest
from sasl_brokers import PASSWORD, add_users, requests, sasl_broker

from headrace.base.errors import Refused
from headrace.cli.app import run
from headrace.client.cluster_client import ClusterClient
from headrace.client.connection import Disconnected
from headrace.client.peer import Peer
from headrace.client.security import Sasl, Security, security_from
from headrace.testing.broker import HOST
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.metadata import MetadataRequest, MetadataResponse
from signed_tokens import AUDIENCE, ISSUER, JWKS, STRANGE_KEY, token

SESSION_MS = 2_000


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    keys = tmp_path_factory.mktemp("keys") / "jwks.json"
    keys.write_bytes(JWKS)
    data = tmp_path_factory.mktemp("sasl")
    add_users(data, "al")
    settings = {
        "sasl.enabled.mechanisms": "OAUTHBEARER,PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "connections.max.reauth.ms": SESSION_MS,
    }
    with sasl_broker(data, settings) as broker:
        yield broker


def by_file(path: Path) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": path.as_uri(),
    }


def by_password(mechanism: str, password: str = PASSWORD) -> Security:
    return Security(None, Sasl(mechanism, "al", password))


async def goes_on(broker, security: Security | None, renewals: int = 1) -> None:
    """Asks, two requests at a time, until a connection has renewed its login so often.

    A machine that is busy may send a request a moment before the end of a login, and its broker read it a moment after: then
    the connection is cut off, and another one is tried.
    """
    async with asyncio.timeout(60):
        while not await _renewed(broker, security, renewals):
            pass


async def _renewed(broker, security: Security | None, renewals: int) -> bool:
    peer = await Peer.open((HOST, broker.port), "test", security)
    before = requests(broker, "SaslHandshake")
    try:
        # Handshakes that pass the gate are those of clients that log in again.
        while requests(broker, "SaslHandshake") < before + renewals:
            asked = [peer.ask(MetadataRequest(topics=[]), MetadataResponse) for _ in range(2)]
            assert all(each.cluster_id for each in await asyncio.gather(*asked))
    except Disconnected:
        return False
    finally:
        peer.connection.close()
    return True


async def cluster_id(broker, security: Security | None) -> str:
    client = ClusterClient(broker.bootstrap, client_id="test", security=security)
    try:
        return (await client.metadata()).cluster_id
    finally:
        await client.close()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_password_is_proven_again_on_the_same_connection(broker, mechanism):
    asyncio.run(goes_on(broker, by_password(mechanism)))


def test_a_token_of_a_file_is_read_again_when_its_login_ends(broker, tmp_path):
    file = tmp_path / "token"
    file.write_text(token(exp=int(time.time()) + 300))

    async def go_on() -> None:
        task = asyncio.create_task(goes_on(broker, security_from(by_file(file))))
        file.write_text(token(exp=int(time.time()) + 200))
        await task

    asyncio.run(go_on())


def test_a_callable_gives_the_token_of_the_moment(broker):
    given = []

    def give() -> str:
        given.append(token())
        return given[-1]

    asyncio.run(goes_on(broker, Security(None, Sasl("OAUTHBEARER", "", "", give)), renewals=2))
    assert len(given) >= 3


def test_an_idle_connection_whose_login_ended_is_used_again(broker):
    async def idle() -> None:
        peer = await Peer.open((HOST, broker.port), "test", by_password("PLAIN"))
        ended = asyncio.Event()
        # Nothing happens at the end of a login that could be waited for.
        asyncio.get_running_loop().call_later(SESSION_MS / 1000, ended.set)
        await ended.wait()
        before = requests(broker, "SaslHandshake")
        assert (await peer.ask(MetadataRequest(topics=[]), MetadataResponse)).cluster_id
        assert requests(broker, "SaslHandshake") == before + 1
        peer.connection.close()

    asyncio.run(idle())


BAD = {
    "strange key": (lambda: token(STRANGE_KEY), "OAUTHBEARER"),
    "expired": (lambda: token(iat=1_700_000_000, exp=1_700_000_300), "OAUTHBEARER"),
    "nothing": (lambda: "", "what stands for a token is none"),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_token_is_told_in_plain_words(broker, tmp_path, bad):
    file = tmp_path / "token"
    make, said = BAD[bad]
    text = make()
    file.write_text(text)
    with pytest.raises(Refused, match=said) as refused:
        asyncio.run(cluster_id(broker, security_from(by_file(file))))
    assert refused.value.code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert not text or text not in refused.value.message


def test_the_command_line_by_a_token_of_a_file(broker, tmp_path, capsys):
    secret, file = tmp_path / "token", tmp_path / "client.properties"
    secret.write_text(token())
    lines = {**by_file(secret), "bootstrap.servers": broker.bootstrap}
    file.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    own = ["--client-config", str(file)]
    assert run(["topic", "create", "by-token", "--partitions", "1", *own]) == 0
    assert run(["cluster", "status", *own]) == 0
    assert run(["topic", "list", *own]) == run(["consume", "by-token", *own]) == 0
    secret.write_text(token(STRANGE_KEY))
    capsys.readouterr()
    assert run(["topic", "list", *own]) == 4
    assert "sasl.oauthbearer.token.endpoint.url" in capsys.readouterr().err
