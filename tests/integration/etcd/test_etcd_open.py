"""What can be wrong when a store is opened on etcd: each is said with its cause and a fix, and nothing is touched."""

import asyncio
import base64
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from etcd_cluster import EtcdCluster
from headrace.base.errors import UserError
from headrace.cli.run.ports import free_port
from headrace.stores.etcd import EtcdStore
from headrace.stores.etcd_url import PASSWORD_VARIABLE


def commit_one(url: str) -> int:
    async def tell() -> int:
        store = await EtcdStore.open(url)
        try:
            return await store.commit({"a": b"1"}, {})
        finally:
            await store.close()

    return asyncio.run(tell())


def refusal(url: str) -> UserError:
    with pytest.raises(UserError) as refused:
        asyncio.run(EtcdStore.open(url, deadline_s=2))
    assert refused.value.fix
    return refused.value


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def put(etcd: EtcdCluster, key: str, value: str) -> None:
    etcd.ask(0, "/v3/kv/put", {"key": b64(key), "value": b64(value)})


def keys_below(etcd: EtcdCluster, prefix: str) -> list[str]:
    reply = etcd.ask(0, "/v3/kv/range", {"key": b64(prefix), "range_end": b64(prefix + "0")})
    return [base64.b64decode(kv["key"]).decode() for kv in reply.get("kvs", ())]


def test_nobody_listens() -> None:
    port, other = free_port("127.0.0.1"), free_port("127.0.0.1")
    refused = refusal(f"etcd://127.0.0.1:{port},127.0.0.1:{other}/x")
    assert f"127.0.0.1:{port}: " in refused.cause
    assert f"127.0.0.1:{other}: " in refused.cause
    assert "onnect" in refused.cause


def test_one_address_of_several_is_enough(etcd: EtcdCluster, prefix: str) -> None:
    dead = free_port("127.0.0.1")
    for _ in range(4):
        assert commit_one(f"etcd://127.0.0.1:{dead},127.0.0.1:{etcd.members[0].client_port}{prefix}")


def test_someone_else_listens(etcd: EtcdCluster) -> None:
    async def serve_and_open(answer: bytes) -> UserError:
        served: list[asyncio.Task[None] | None] = []

        async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            served.append(asyncio.current_task())
            await reader.read(10_000)
            writer.write(answer)
            writer.close()
            await writer.wait_closed()

        async with await asyncio.start_server(on_connection, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(UserError) as refused:
                await EtcdStore.open(f"etcd://127.0.0.1:{port}/x", deadline_s=2)
            await asyncio.gather(*filter(None, served), return_exceptions=True)
        return refused.value

    page = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"
    lost = b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot found"

    async def all_three() -> list[UserError]:
        return await asyncio.gather(*map(serve_and_open, (page, lost, b"\0\0\0\1")))

    wrong, missing, other = asyncio.run(all_three())
    assert "not like etcd" in wrong.cause
    assert "HTTP 404" in missing.cause
    assert "does not speak HTTP" in other.cause
    # The port between etcd's members answers HTTP too.
    assert "not like etcd" in refusal(f"etcd://127.0.0.1:{etcd.members[0].peer_port}/x").cause


def test_a_prefix_of_someone_else(etcd: EtcdCluster, prefix: str) -> None:
    put(etcd, f"{prefix}/customers/1", "Ada")
    refused = refusal(etcd.url(prefix))
    assert "not Headrace's" in refused.cause
    assert prefix in refused.cause
    assert keys_below(etcd, prefix) == [f"{prefix}/customers/1"]
    assert commit_one(etcd.url(f"{prefix}/headrace"))


def test_a_neighbour_with_a_similar_name_is_no_hindrance(etcd: EtcdCluster, prefix: str) -> None:
    put(etcd, f"{prefix}-other/customers/1", "Ada")
    put(etcd, f"{prefix}1", "Ada")
    assert commit_one(etcd.url(prefix))


def test_the_format_of_a_newer_version(etcd: EtcdCluster, prefix: str) -> None:
    commit_one(etcd.url(prefix))
    put(etcd, f"{prefix}/map", "headrace 2")
    refused = refusal(etcd.url(prefix))
    assert "'headrace 2'" in refused.cause
    assert "newer" in refused.fix


@pytest.mark.parametrize("below", ["", "/map"])
def test_metadata_that_is_replaced_under_a_running_broker(etcd: EtcdCluster, prefix: str, below: str) -> None:
    async def tell() -> None:
        store = await EtcdStore.open(etcd.url(prefix))
        revision = await store.commit({"a": b"1"}, {})
        etcd.ask(0, "/v3/kv/deleterange", {"key": b64(prefix + below), "range_end": b64(prefix + below + "0")})
        put(etcd, f"{prefix}/map", "headrace 1")
        newcomer = await EtcdStore.open(etcd.url(prefix))
        for call in (store.load(), store.commit({"b": b"1"}, {}), store.commit({}, {}), anext(store.watch(revision))):
            with pytest.raises(UserError, match="removed or replaced"):
                await call
        assert (await newcomer.load()).entries == {}
        await store.close()
        await newcomer.close()

    asyncio.run(tell())


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[EtcdCluster]:
    """Of its own: with authentication on, for `root` with all rights and `guest` with none."""
    if shutil.which("etcd") is None:
        pytest.skip("etcd is missing. Fix: apt-get install etcd-server")
    with EtcdCluster(tmp_path) as etcd:
        for user, password in (("root", "a@b/c"), ("guest", "guest")):
            etcd.ask(0, "/v3/auth/user/add", {"name": user, "password": password})
        etcd.ask(0, "/v3/auth/role/add", {"name": "root"})
        etcd.ask(0, "/v3/auth/user/grant", {"user": "root", "role": "root"})
        etcd.ask(0, "/v3/auth/enable", {})
        yield etcd


def test_users_and_passwords(guarded: EtcdCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    assert PASSWORD_VARIABLE in refusal(guarded.url()).fix
    assert "authentication failed" in refusal(guarded.url(user="root:wrong@")).cause
    assert "authentication failed" in refusal(guarded.url(user="nobody:a@")).cause
    denied = refusal(guarded.url(user="guest:guest@"))
    assert "permission denied" in denied.cause
    assert "grant-permission" in denied.fix
    assert commit_one(guarded.url(user="root:a%40b%2Fc@"))
    monkeypatch.setenv(PASSWORD_VARIABLE, "a@b/c")
    assert commit_one(guarded.url(user="root@"))


def test_a_token_that_etcd_no_longer_knows_is_replaced(guarded: EtcdCluster) -> None:
    async def tell() -> None:
        store = await EtcdStore.open(guarded.url(user="root:a%40b%2Fc@"))
        watch = store.watch(await store.commit({"a": b"1"}, {}))
        # Tokens live in the member's memory.
        guarded.kill(0)
        guarded.start(0)
        revision = await store.commit({"a": b"2"}, {})
        assert (await anext(watch)).revision == revision
        await store.close()

    asyncio.run(tell())


def test_a_user_where_there_are_none(etcd: EtcdCluster, prefix: str) -> None:
    refused = refusal(etcd.url(prefix, user="root:x@"))
    assert "authentication is not enabled" in refused.cause
    assert "USER@" in refused.fix


@pytest.fixture
def tls(tmp_path: Path) -> Iterator[tuple[EtcdCluster, Path]]:
    if shutil.which("openssl") is None or shutil.which("etcd") is None:
        pytest.skip("openssl or etcd is missing. Fix: apt-get install openssl etcd-server")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    request = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=etcd -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*request.split(), "-keyout", key, "-out", cert], check=True, capture_output=True)
    arguments = (f"--cert-file={cert}", f"--key-file={key}", f"--trusted-ca-file={cert}", "--client-cert-auth")
    with EtcdCluster(tmp_path, scheme="https", arguments=arguments) as etcd:
        yield etcd, tmp_path


def test_tls_with_certificates_on_both_sides(tls: tuple[EtcdCluster, Path]) -> None:
    etcd, folder = tls
    ours = f"cert={folder}/cert.pem&key={folder}/key.pem"
    assert commit_one(f"{etcd.url()}?ca={folder}/cert.pem&{ours}")
    assert "certificate verify failed" in refusal(f"{etcd.url()}?{ours}").cause.lower()
    assert refusal(f"{etcd.url()}?ca={folder}/cert.pem").cause
    plain = refusal(etcd.url().replace("etcds", "etcd"))
    assert "without an answer" in plain.cause
    assert "etcds://" in plain.fix
