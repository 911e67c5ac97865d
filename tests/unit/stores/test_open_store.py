"""Which store a person means by `--store`."""

import asyncio
import sys
from pathlib import Path

import pytest

from headrace.base.errors import UserError
from headrace.stores.open import open_store
from headrace.stores.sqlite import SqliteStore
from store_world import HandClock


def opened(where: str) -> type:
    async def tell() -> type:
        store = await open_store(where, HandClock())
        await store.close()
        return type(store)

    return asyncio.run(tell())


def refusal(where: str) -> UserError:
    with pytest.raises(UserError) as refused:
        opened(where)
    assert refused.value.fix
    return refused.value


@pytest.mark.parametrize("form", ["{}", "sqlite:{}", "sqlite://{}"])
def test_a_path_is_a_sqlite_file_and_its_folder_is_made(form: str, tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "with:colon" / "metadata.sqlite"
    assert opened(form.format(path)) is SqliteStore
    assert path.exists()


def test_a_relative_path_with_a_colon_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert opened("data:1/metadata.sqlite") is SqliteStore
    assert Path("data:1/metadata.sqlite").exists()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused = refusal(f"{tmp_path}/file/meta/metadata.sqlite")
    assert "--data" in refused.fix


@pytest.mark.parametrize("where", ["redis://a:1/x", "zk://a", "http://a:2379"])
def test_an_unknown_store_is_refused_with_those_that_are_known(where: str) -> None:
    refused = refusal(where)
    assert where.partition(":")[0] in refused.cause
    assert "sqlite:" in refused.fix
    assert "etcd://" in refused.fix


@pytest.mark.parametrize("where", ["sqlite:", "etcd:", "etcd:a:1", "etcd://", "etcd://a:b/x"])
def test_a_known_store_with_nothing_behind_it(where: str) -> None:
    assert refusal(where).cause


def test_etcd_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("headrace.stores.etcd")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "h11", None)
    assert "headrace[etcd]" in refusal("etcd://127.0.0.1:1/x").fix
