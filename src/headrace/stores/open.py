"""Opens the metadata store that a setting names. The only place that knows all adapters; each is imported when chosen."""

from pathlib import Path
from typing import Final

from headrace.base.clock import Clock
from headrace.base.errors import UserError
from headrace.cluster.store import MetaStore

ALLOWED: Final = (
    "Give a file (PATH or sqlite:PATH) for the brokers of one host, or etcd://HOST:PORT,…/PREFIX for those of many."
)


async def open_store(where: str, clock: Clock) -> MetaStore:
    """Opens a path, `sqlite:PATH` or `etcd://…`; `UserError` for anything else."""
    scheme, _, rest = where.partition(":")
    if scheme == "sqlite":
        return await _open_sqlite(rest.removeprefix("//"), clock)
    if scheme in ("etcd", "etcds"):
        return await _open_etcd(where)
    # A path may have a colon in it too.
    if rest.startswith("//") and "/" not in scheme:
        raise UserError(f"there is no metadata store {scheme}://", ALLOWED)
    return await _open_sqlite(where, clock)


async def _open_sqlite(name: str, clock: Clock) -> MetaStore:
    from headrace.stores.sqlite import SqliteStore

    if not name:
        raise UserError("--store names no file", ALLOWED)
    path = Path(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
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
