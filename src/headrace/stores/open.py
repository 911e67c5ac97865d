"""Opens the metadata store that a setting names. The only place that knows all adapters; each is imported when chosen."""

from pathlib import Path
from typing import Final

from headrace.base.clock import Clock
from headrace.base.errors import UserError
from headrace.base.private_files import make_directory
from headrace.cluster.store import MetaStore

ALLOWED: Final = (
    "Give a file (PATH or sqlite:PATH) for the brokers of one host, or etcd://HOST:PORT,…/PREFIX for those of many."
)


async def open_store(where: str, clock: Clock) -> MetaStore:
    """Opens a path, `sqlite:PATH` or `etcd://…`; `UserError` for anything else."""
    check_store(where)
    return await (_open_etcd(where) if _is_etcd(where) else _open_sqlite(_file_of(where), clock))


def check_store(where: str) -> None:
    """Raises UserError for what can be no store, without a look at the disk or at etcd."""
    scheme, _, rest = where.partition(":")
    if _is_etcd(where):
        from headrace.stores.etcd_url import parse_etcd_url

        parse_etcd_url(where)
    elif not _file_of(where):
        raise UserError("--store names no file", ALLOWED)
    # A path may have a colon in it too.
    elif scheme != "sqlite" and rest.startswith("//") and "/" not in scheme:
        raise UserError(f"there is no metadata store {scheme}://", ALLOWED)


def _is_etcd(where: str) -> bool:
    return where.partition(":")[0] in ("etcd", "etcds")


def _file_of(where: str) -> str:
    scheme, _, rest = where.partition(":")
    return rest.removeprefix("//") if scheme == "sqlite" else where


async def _open_sqlite(name: str, clock: Clock) -> MetaStore:
    from headrace.stores.sqlite import SqliteStore

    path = Path(name)
    try:
        make_directory(path.parent)
    except OSError as error:
        fix = "Name a directory you may write to with --data or --store."
        raise UserError(f"{path.parent}: {error.strerror}", fix) from None
    return await SqliteStore.open(path, clock)


async def _open_etcd(url: str) -> MetaStore:
    try:
        from headrace.stores.etcd import EtcdStore
    except ModuleNotFoundError as missing:
        if missing.name != "h11":
            raise
        raise UserError("an etcd:// store needs the package h11", "pip install 'headrace[etcd]'") from None
    return await EtcdStore.open(url)
