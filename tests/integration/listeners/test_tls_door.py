"""The door of a listener with TLS: whose certificates, handshakes that never end, new certificates, large replies."""

import asyncio
import logging
import shutil
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from tls_door import LOOPS, TlsDoor
from tls_world import HOST, NAMES, Certificates

from eventually import until_async
from headrace.base.disk import RealDisk
from headrace.base.errors import UserError
from headrace.base.probe import Probes
from headrace.broker.net import acceptor
from headrace.broker.net.descriptors import Descriptors
from headrace.log.file_range import FileRange

Story = Callable[[TlsDoor], Awaitable[None]]


@pytest.fixture(params=LOOPS)
def played(request: pytest.FixtureRequest) -> Callable[[TlsDoor, Story], None]:
    """Plays a story on each kind of event loop."""

    def play(door: TlsDoor, story: Story) -> None:
        async def run() -> None:
            async with door:
                await story(door)

        with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
            runner.run(run())

    return play


async def refused(door: TlsDoor, certificate: str = "", context: ssl.SSLContext | None = None) -> None:
    """The client is turned away: in its handshake, or, as TLS 1.3 has it, with what it does next."""
    with pytest.raises((OSError, EOFError)):
        caller = await door.connect(certificate, context=context)
        try:
            await caller.ask(b"hello")
        finally:
            caller.close()


# -- who they are ----------------------------------------------------------------------------------------------------------


def test_a_certificate_is_a_principal(played, certificates: Certificates) -> None:
    async def story(door: TlsDoor) -> None:
        caller = await door.connect(certificates.client("app"))
        assert await caller.ask(b"hello") == b"hello"
        assert door.principals == ["User:CN=app"]
        assert [each.ip for each in door.listener.connections] == [HOST]
        caller.close()

    played(TlsDoor(certificates, ssl_client_auth="required"), story)


def test_without_one_a_client_is_nobody_where_that_is_allowed(played, certificates: Certificates) -> None:
    async def story(door: TlsDoor) -> None:
        caller = await door.connect()
        assert await caller.ask(b"hello") == b"hello"
        assert door.principals == ["User:ANONYMOUS"]
        caller.close()

    played(TlsDoor(certificates, ssl_client_auth="requested"), story)


def test_without_one_a_client_is_refused_where_it_is_required(played, certificates: Certificates, caplog) -> None:
    async def story(door: TlsDoor) -> None:
        await refused(door)
        await until_async(lambda: door.probes.peer_errors == 1)
        assert "the client shows no certificate, and ssl.client.auth=required" in caplog.text
        assert door.principals == []

    played(TlsDoor(certificates, ssl_client_auth="required"), story)


def test_a_certificate_of_a_stranger_is_refused(played, certificates: Certificates, tmp_path: Path, caplog) -> None:
    stranger = Certificates(tmp_path)

    async def story(door: TlsDoor) -> None:
        context = certificates.context()
        context.load_cert_chain(stranger.client("app"))
        await refused(door, context=context)
        await until_async(lambda: door.probes.peer_errors == 1)
        assert "the client's certificate is not trusted" in caplog.text

    played(TlsDoor(certificates, ssl_client_auth="requested"), story)


def test_rules_name_the_principal_or_refuse_it(played, certificates: Certificates, caplog) -> None:
    async def story(door: TlsDoor) -> None:
        caller = await door.connect(certificates.client("app-1"))
        await caller.ask(b"hello")
        assert door.principals == ["User:APP"]
        caller.close()
        await refused(door, certificates.client("other"))
        assert "no rule of ssl.principal.mapping.rules fits the certificate of 'CN=other'" in caplog.text

    rules = r"RULE:^CN=(\w+)-\d+$/$1/U"
    played(TlsDoor(certificates, ssl_client_auth="required", ssl_principal_mapping_rules=rules), story)


# -- what is no handshake --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"\x00\x00\x00\x10\x00\x12\x00\x00", "its bytes are not TLS"),
        (b"GET / HTTP/1.1\r\n\r\n", "this is HTTP"),
        (b"\x16\x03\x01\x00\x05hello", "no TLS handshake"),
    ],
)
def test_what_is_not_tls_is_told_and_closed(played, certificates: Certificates, caplog, sent: bytes, told: str) -> None:
    async def story(door: TlsDoor) -> None:
        reader, writer = await asyncio.open_connection(HOST, door.port)
        writer.write(sent)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await asyncio.wait_for(reader.readexactly(1 << 20), 20)
        writer.transport.abort()
        await until_async(lambda: told in caplog.text)
        assert door.probes.peer_errors == 1

    played(TlsDoor(certificates), story)


def test_old_versions_are_refused(played, certificates: Certificates, caplog) -> None:
    context = certificates.context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning):
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1

    async def story(door: TlsDoor) -> None:
        await refused(door, context=context)
        await until_async(lambda: door.probes.peer_errors == 1)
        assert "none of the versions in ssl.enabled.protocols" in caplog.text

    played(TlsDoor(certificates), story)


def test_a_client_may_have_one_version_only(played, certificates: Certificates) -> None:
    async def story(door: TlsDoor) -> None:
        context = certificates.context()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        await refused(door, context=context)
        caller = await door.connect()
        assert await caller.ask(b"hello") == b"hello"
        caller.close()

    played(TlsDoor(certificates, ssl_enabled_protocols="TLSv1.3"), story)


def test_nobody_renegotiates(played, certificates: Certificates) -> None:
    """A client of TLS 1.2 could otherwise have us compute handshake after handshake on one connection."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is needed. Fix: apt-get install openssl")

    async def story(door: TlsDoor) -> None:
        client = await asyncio.create_subprocess_exec(
            *(openssl, "s_client", "-tls1_2", "-connect", f"{HOST}:{door.port}", "-CAfile", certificates.ca),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert client.stdin is not None
        await until_async(lambda: bool(door.listener.connections))
        client.stdin.write(b"R\n")
        said, _ = await asyncio.wait_for(client.communicate(), 20)
        assert b"RENEGOTIATING" in said
        assert b"no renegotiation" in said

    played(TlsDoor(certificates), story)


@pytest.mark.parametrize("sent", [b"", b"\x16\x03", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"])
def test_a_thousand_that_never_shake_hands_harm_nobody(
    played, certificates: Certificates, monkeypatch, sent: bytes
) -> None:
    monkeypatch.setattr(acceptor, "HANDSHAKE_SECONDS_MAX", 3.0)

    async def story(door: TlsDoor) -> None:
        before = door.descriptors.left
        silent = [socket.create_connection((HOST, door.port)) for _ in range(1_000)]
        for each in silent:
            each.sendall(sent)
        callers = [await door.connect() for _ in range(20)]
        for caller in callers:
            assert await caller.ask(b"hello") == b"hello"
            caller.close()
        # Nothing is kept for them in the end.
        await until_async(lambda: door.descriptors.left == before)
        for each in silent:
            each.close()

    played(TlsDoor(certificates), story)


def test_more_than_may_wait_push_out_those_that_wait_longest(played, certificates: Certificates, monkeypatch) -> None:
    monkeypatch.setattr(acceptor, "HANDSHAKES_WAITING_MAX", 10)

    async def story(door: TlsDoor) -> None:
        silent = [socket.create_connection((HOST, door.port)) for _ in range(50)]
        await until_async(lambda: door.probes.peer_errors == 40)
        caller = await door.connect()
        assert await caller.ask(b"hello") == b"hello"
        caller.close()
        for each in silent:
            each.close()

    played(TlsDoor(certificates), story)


def test_clients_that_say_nothing_leave_other_brokers_their_descriptors(played, certificates: Certificates) -> None:
    async def story(door: TlsDoor) -> None:
        door.descriptors.left, door.count.kept = 15, 10
        silent = [socket.create_connection((HOST, door.port)) for _ in range(50)]
        await until_async(lambda: door.probes.peer_errors == 45)
        assert door.descriptors.left == 10
        for each in silent:
            each.close()

    played(TlsDoor(certificates), story)


def test_more_than_may_shake_hands_push_out_the_oldest(played, certificates: Certificates, monkeypatch) -> None:
    monkeypatch.setattr(acceptor, "HANDSHAKES_MAX", 10)

    async def story(door: TlsDoor) -> None:
        before = door.descriptors.left
        half = [socket.create_connection((HOST, door.port)) for _ in range(50)]
        for each in half:
            each.sendall(b"\x16\x03\x01\x02\x00\x01")
        await until_async(lambda: door.probes.peer_errors == 40)
        caller = await door.connect()
        assert await caller.ask(b"hello") == b"hello"
        caller.close()
        for each in half:
            each.close()
        await until_async(lambda: door.descriptors.left == before)

    played(TlsDoor(certificates), story)


def test_the_last_reply_arrives_before_the_end(played, certificates: Certificates) -> None:
    async def story(door: TlsDoor) -> None:
        asked = asyncio.Event()

        def reply(frame: memoryview) -> list[bytes]:
            asked.set()
            return [b"x" * 3_000_000]

        door.reply = reply
        caller = await door.connect()
        caller.writer.write(b"\0\0\0\1x")
        await until_async(lambda: bool(door.listener.connections))
        (connection,) = door.listener.connections
        await asked.wait()
        connection.close_when_answered()
        assert len(await asyncio.wait_for(caller.reader.readexactly(3_000_000), 20)) == 3_000_000
        assert await asyncio.wait_for(caller.reader.read(1), 20) == b""
        caller.close()

    played(TlsDoor(certificates), story)


# -- new certificates ------------------------------------------------------------------------------------------------------


def test_a_new_certificate_is_shown_to_who_comes_next(played, certificates: Certificates, caplog) -> None:
    async def story(door: TlsDoor) -> None:
        first = await door.connect()
        certificates.broker("door")
        door.tls.look()
        second = await door.connect()
        assert first.serial != second.serial
        assert await first.ask(b"still there") == b"still there"
        door.tls.look()
        third = await door.connect()
        assert third.serial == second.serial
        for caller in (first, second, third):
            caller.close()

    played(TlsDoor(certificates), story)


def test_a_file_that_cannot_be_used_changes_nothing_and_is_told_once(
    played, certificates: Certificates, caplog
) -> None:
    door = TlsDoor(certificates)
    path = Path(door.settings["ssl.keystore.location"])
    good = path.read_bytes()

    def look(content: bytes) -> None:
        path.write_bytes(content)
        door.tls.look()

    async def story(door: TlsDoor) -> None:
        first = await door.connect()
        for content in (b"", good[: len(good) // 2], good.replace(b"\nM", b"\nX")):
            caplog.clear()
            look(content)
            door.tls.look()
            assert caplog.text.count("certificates stay as they are") == 1
            caller = await door.connect()
            assert caller.serial == first.serial
            caller.close()
        look(good)
        last = await door.connect()
        assert last.serial == first.serial
        first.close()
        last.close()

    played(door, story)


def test_a_new_certificate_that_has_ended_is_refused_and_the_old_one_stays(
    played, certificates: Certificates, caplog
) -> None:
    async def story(door: TlsDoor) -> None:
        first = await door.connect()
        certificates.broker("door", days=-0.001)
        door.tls.look()
        assert "certificates stay as they are: listener TLS: the new certificate ended at" in caplog.text
        second = await door.connect()
        assert first.serial == second.serial
        certificates.broker("door")
        door.tls.look()
        third = await door.connect()
        assert first.serial != third.serial
        for caller in (first, second, third):
            caller.close()

    played(TlsDoor(certificates), story)


def test_a_certificate_that_ends_while_it_runs_is_told_once_and_cuts_nobody_off(
    played, certificates: Certificates, caplog
) -> None:
    door = TlsDoor(certificates)
    certificates.broker("door", days=2 / 86_400)
    door.tls.look()

    async def story(door: TlsDoor) -> None:
        first = await door.connect()

        def is_told() -> bool:
            door.tls.look()
            return "the certificate of listener TLS has ended, and clients refuse it" in caplog.text

        await until_async(is_told)
        assert await first.ask(b"still there") == b"still there"
        # OpenSSL reads a clock that is some milliseconds late.
        ends_at = door.tls.expires_at
        assert ends_at is not None
        await until_async(lambda: time.time() > ends_at + 0.1)
        with pytest.raises(ssl.SSLCertVerificationError, match="has expired"):
            await door.connect()
        door.tls.look()
        assert caplog.text.count("has ended, and clients refuse it") == 1
        first.close()

    played(door, story)


def test_a_clients_certificate_that_has_ended_is_refused_and_told(played, certificates: Certificates, caplog) -> None:
    async def story(door: TlsDoor) -> None:
        await refused(door, certificates.client("late", days=-0.001))
        await until_async(lambda: door.probes.peer_errors == 1)
        assert "(ssl.truststore.location): certificate has expired" in caplog.text

    played(TlsDoor(certificates, ssl_client_auth="required"), story)


def test_another_file_is_named_while_it_runs(played, certificates: Certificates, caplog) -> None:
    async def story(door: TlsDoor) -> None:
        first = await door.connect()
        door.settings["listener.name.tls.ssl.keystore.location"] = certificates.broker("another")
        door.tls.look()
        second = await door.connect()
        assert first.serial != second.serial
        first.close()
        second.close()

    played(TlsDoor(certificates, ssl_allow_dn_changes="true"), story)


LESS = ("localhost",)
MORE = (*NAMES, "more.example.com")


@pytest.mark.parametrize(
    ("name", "names", "allowed", "cause"),
    [
        ("door", MORE, (), ""),
        ("other", NAMES, (), "the new certificate is for CN=other, not for CN=door (ssl.allow.dn.changes)"),
        ("other", NAMES, ("san",), "the new certificate is for CN=other, not for CN=door (ssl.allow.dn.changes)"),
        ("other", NAMES, ("dn",), ""),
        ("door", LESS, (), f"the new certificate lacks the names IPAddress:{HOST} (ssl.allow.san.changes)"),
        ("door", LESS, ("dn",), f"the new certificate lacks the names IPAddress:{HOST} (ssl.allow.san.changes)"),
        ("door", LESS, ("san",), ""),
        ("other", LESS, ("dn", "san"), ""),
    ],
)
def test_a_certificate_for_other_names_changes_nothing_unless_that_is_allowed(
    played, certificates: Certificates, caplog, name: str, names: tuple[str, ...], allowed: tuple[str, ...], cause: str
) -> None:
    def change(door: TlsDoor) -> None:
        Path(door.settings["ssl.keystore.location"]).write_bytes(certificates.authority.issue(name, names, 30))
        door.tls.look()

    async def story(door: TlsDoor) -> None:
        first = await door.connect()
        # A refused one does not become what the next is compared with.
        for _ in range(2):
            change(door)
            second = await door.connect()
            assert (second.serial == first.serial) == bool(cause)
            second.close()
        first.close()

    played(TlsDoor(certificates, **{f"ssl_allow_{each}_changes": "true" for each in allowed}), story)
    assert caplog.text.count(cause) == 2 if cause else "certificates stay" not in caplog.text


# -- replies ---------------------------------------------------------------------------------------------------------------


def test_a_reader_that_is_slow_costs_no_more_than_pieces(played, certificates: Certificates, tmp_path: Path) -> None:
    """A reply of many pieces from a file and from memory, whole and in order, while little of it is in our hands."""
    content = bytes(range(256)) * (160 << 10)
    path = tmp_path / "segment"
    path.write_bytes(content)
    file = RealDisk().open(str(path))
    held: list[int] = []

    async def story(door: TlsDoor) -> None:
        whole = b"head" + content + b"tail" + content[:5000]
        door.reply = lambda frame: [b"head", FileRange(file, 0, len(content), 0), b"tail", FileRange(file, 0, 5000, 0)]
        caller = await door.connect()
        caller.writer.write(b"\0\0\0\1x")
        await until_async(lambda: bool(door.listener.connections))
        (connection,) = door.listener.connections
        await until_async(lambda: connection.outbox.queued_bytes > 0)
        got = bytearray()
        while len(got) < len(whole):
            got += await asyncio.wait_for(caller.reader.read(1 << 20), 20)
            transport = connection.transport
            held.append(0 if transport is None else transport.get_write_buffer_size())
        assert bytes(got) == whole
        caller.close()

    played(TlsDoor(certificates), story)
    assert max(held) < 1 << 20
    assert file.pins == 0
    file.close()


def test_all_interfaces_have_one_port(certificates: Certificates) -> None:
    async def story() -> None:
        everywhere = acceptor.Acceptor(
            asyncio.get_running_loop(), asyncio.Protocol, None, 1, Probes(), Descriptors(1000), backlog=8
        )
        everywhere.bind(None, 0)
        assert len({each.getsockname()[1] for each in everywhere.sockets}) == 1
        everywhere.close()

    asyncio.run(story())


# -- settings --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"ssl_keystore_location": ""}, "TLS needs a private key and a certificate"),
        ({"ssl_keystore_location": "/nowhere.pem"}, "No such file"),
        ({"ssl_keystore_key": "x"}, "ssl.keystore.location and ssl.keystore.key are both set"),
        ({"ssl_truststore_certificates": "x"}, "are both set"),
        ({"ssl_truststore_location": "", "ssl_client_auth": "required"}, "has nobody to trust"),
        ({"ssl_principal_mapping_rules": "RULE"}, "is no rule"),
        ({"ssl_cipher_suites": "NO-SUCH-SUITE"}, "cannot be used"),
    ],
)
def test_settings_that_cannot_be_used(certificates: Certificates, settings: dict[str, str], told: str) -> None:
    with pytest.raises(UserError, match=told):
        TlsDoor(certificates, **settings)


def test_key_and_certificates_may_stand_in_the_settings(played, certificates: Certificates) -> None:
    pem = Path(certificates.broker("inline")).read_text()
    key, begin, chain = pem.partition("-----BEGIN CERTIFICATE")
    settings = {
        "ssl_keystore_location": "",
        "ssl_truststore_location": "",
        "ssl_keystore_key": key.replace("\n", "\\n"),
        "ssl_keystore_certificate_chain": begin + chain,
        "ssl_truststore_certificates": Path(certificates.ca).read_text(),
        "ssl_cipher_suites": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    }

    async def story(door: TlsDoor) -> None:
        caller = await door.connect()
        assert await caller.ask(b"hello") == b"hello"
        caller.close()
        context = certificates.context()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        caller = await door.connect(context=context)
        assert caller.writer.get_extra_info("cipher")[0] == "ECDHE-ECDSA-AES256-GCM-SHA384"
        caller.close()

    played(TlsDoor(certificates, **settings), story)


def test_an_encrypted_key_needs_its_password(played, certificates: Certificates, tmp_path: Path) -> None:
    """Without it OpenSSL would ask at the terminal, and the broker would wait there."""
    pem = Path(certificates.broker("encrypted")).read_bytes()
    key = load_pem_private_key(pem, None)
    locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"open sesame"))
    path = tmp_path / "encrypted.pem"
    path.write_bytes(locked + pem[pem.index(b"-----BEGIN CERT") :])
    for wrong in ({}, {"ssl_key_password": "open barley"}):
        with pytest.raises(UserError, match="cannot be used"):
            TlsDoor(certificates, ssl_keystore_location=str(path), **wrong)

    async def story(door: TlsDoor) -> None:
        caller = await door.connect()
        assert await caller.ask(b"hello") == b"hello"
        caller.close()

    played(TlsDoor(certificates, ssl_keystore_location=str(path), ssl_key_password="open sesame"), story)


@pytest.fixture(autouse=True)
def every_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
