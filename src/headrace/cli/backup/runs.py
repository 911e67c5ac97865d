"""Runs of the backup commands: they ask the cluster, show progress and report the outcome."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any, TypeVar

import typer

from headrace.admin.admin import Admin
from headrace.backup.create import Created, Extent
from headrace.backup.create import create as create_backup
from headrace.backup.folder import Folder, make_folder, open_folder
from headrace.backup.manifest import Backup
from headrace.backup.plan import RestorePlan, RestoreWish, plan_restore
from headrace.backup.restore import check_files, files_of, look_at
from headrace.backup.restore import restore as restore_backup
from headrace.backup.rights import require_rights_to_restore_access
from headrace.backup.tally import Tally
from headrace.base.errors import UserError
from headrace.base.units import size_text
from headrace.cli.backup.progress import showing
from headrace.cli.connection import with_admin, with_clients
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.output import count_of, remark, show_json, show_rows
from headrace.cli.security.acl_view import in_words, rule_view
from headrace.client.writer_client import WriterClient

T = TypeVar("T")


def create(bootstrap: str, where: str, asked: Extent, as_json: bool) -> None:
    folder = make_folder(where)
    tally = Tally()

    async def work(admin: Admin, client: WriterClient) -> Created:
        async with showing("copying", tally, not as_json):
            return await create_backup(admin, client, folder, asked, tally)

    created = with_clients(bootstrap, work)
    for name in created.gone:
        remark(f"warning: {name} was deleted while it was copied, and is not in this backup")
    for what in created.left_out:
        remark(f"warning: {what}; set again what counts there, it is not in this backup")
    backup = created.backup
    if as_json:
        gone, left_out = list(created.gone), list(created.left_out)
        show_json({**_row(backup), "copied_bytes": created.copied_bytes, "gone": gone, "left_out": left_out})
        return
    print(
        f"backup {backup.id}: {count_of(len(backup.topics), 'topic')}, {count_of(backup.partitions, 'partition')}, "
        f"{count_of(len(backup.groups), 'group')}, {_access_text(backup)}{size_text(backup.bytes)}, "
        f"{size_text(created.copied_bytes)} of it copied now"
    )


def _access_text(backup: Backup) -> str:
    """The users and rules that it has; nothing of those of clusters without."""
    if not backup.users and not backup.acls:
        return ""
    return f"{count_of(len(backup.users), 'user')}, {count_of(len(backup.acls), 'rule')}, "


def list_backups(where: str, verify: bool, as_json: bool) -> int:
    """The exit code: FAILED if one of them cannot be restored."""
    folder = open_folder(where)
    rows = [_looked_at(folder, id, verify) for id in folder.ids()]
    if as_json:
        show_json(rows)
    else:
        columns = {"backup": "BACKUP", "made": "MADE", "topics": "TOPICS", "partitions": "PARTITIONS"}
        columns |= {"groups": "GROUPS", "users": "USERS", "rules": "RULES", "size": "SIZE", "state": "STATE"}
        shown = [{**row, "size": "-" if row["bytes"] is None else size_text(row["bytes"])} for row in rows]
        show_rows(shown, columns, empty=f"no backups yet; make one: headrace backup create {where}")
    return ExitCode.OK if all(row["state"] in ("whole", "complete") for row in rows) else ExitCode.FAILED


def _looked_at(folder: Folder, id: str, verify: bool) -> dict[str, Any]:
    try:
        backup = folder.read(id)
        for file in backup.files:
            folder.check(file, whole=verify)
    except UserError as error:
        nothing = dict.fromkeys(("made", "cluster", "topics", "partitions", "groups", "users", "rules", "bytes"))
        return {"backup": id, **nothing, "state": error.cause}
    # Whether the files are what they were only their checksums say.
    return {**_row(backup), "state": "whole" if verify else "complete"}


def restore(bootstrap: str, where: str, id: str, wish: RestoreWish, yes: bool, dry_run: bool, as_json: bool) -> None:
    folder = open_folder(where)
    backup = folder.read(id) if id else folder.newest()
    plan = with_admin(bootstrap, lambda admin: _planned(admin, backup, wish))
    if not as_json:
        _show(plan)
    asyncio.run(_check(folder, plan, not as_json))
    if not dry_run:
        if not yes and not typer.confirm(
            f"\nRestore {count_of(len(plan.to_fill), 'topic')} ({size_text(plan.bytes)})?"
        ):
            raise Failure("nothing was restored", "answer y, or add --yes", ExitCode.REFUSED)
        _carry_out(bootstrap, folder, plan, as_json)
    if as_json:
        show_json({**_view(plan), "done": not dry_run})
    elif not dry_run:
        print(f"restored backup {backup.id}")


async def _planned(admin: Admin, backup: Backup, wish: RestoreWish) -> RestorePlan:
    plan = plan_restore(backup, await look_at(admin, backup), wish)
    if plan.users_to_put or plan.acls:
        await require_rights_to_restore_access(admin)
    return plan


async def _check(folder: Folder, plan: RestorePlan, show: bool) -> None:
    tally = Tally()
    tally.bytes_total = sum(file.bytes for file in files_of(plan))
    async with showing("checking", tally, show):
        await check_files(folder, plan, tally)


def _carry_out(bootstrap: str, folder: Folder, plan: RestorePlan, as_json: bool) -> None:
    tally = Tally()
    tally.bytes_total = plan.bytes

    async def work(admin: Admin, client: WriterClient) -> None:
        async with showing("restoring", tally, not as_json):
            await restore_backup(admin, client, folder, plan, tally)

    try:
        with_clients(bootstrap, work)
    except BaseException:
        if not as_json:
            remark("not all was restored; the same command goes on where it was")
        raise


def names_of(topics: str) -> list[str]:
    return [name.strip() for name in topics.split(",") if name.strip()]


# -- views -------------------------------------------------------------------------------------------------------------


def _row(backup: Backup) -> dict[str, Any]:
    return {
        "backup": backup.id,
        "made": time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(backup.created_ms / 1000)),
        "cluster": backup.cluster_id,
        "topics": len(backup.topics),
        "partitions": backup.partitions,
        "groups": len(backup.groups),
        "users": len(backup.users),
        "rules": len(backup.acls),
        "bytes": backup.bytes,
    }


def _view(plan: RestorePlan) -> dict[str, Any]:
    return {
        "backup": plan.backup.id,
        "topics": [
            {
                "topic": each.name,
                "action": each.action,
                "partitions": len(each.saved.partitions),
                "replication_factor": each.replication_factor,
                "bytes": each.saved.bytes,
                "settings": each.settings,
            }
            for each in plan.topics
        ],
        "groups": [group.name for group in plan.groups],
        "settings": dict(plan.settings),
        "features": dict(plan.features),
        "users": [{"user": each.saved.name, "action": each.action} for each in plan.users],
        "rules": [rule_view(each) for each in plan.acls],
        "left_out": plan.left_out,
        "bytes": plan.bytes,
    }


def _show(plan: RestorePlan) -> None:
    view = _view(plan)
    print(f"backup {plan.backup.id} of cluster {plan.backup.cluster_id}\n")
    rows: list[Mapping[str, Any]] = [{**each, "size": size_text(each["bytes"])} for each in view["topics"]]
    columns = {"topic": "TOPIC", "action": "ACTION", "partitions": "PARTITIONS", "replication_factor": "REPLICAS"}
    show_rows(rows, {**columns, "size": "SIZE"}, empty="no topics")
    if plan.groups:
        print(f"\noffsets of {count_of(len(plan.groups), 'group')}: {', '.join(view['groups'])}")
    if plan.settings:
        print(f"\nsettings of all brokers: {', '.join(f'{name}={value}' for name, value in plan.settings.items())}")
    _show_access(plan)
    for what in plan.left_out:
        remark(f"warning: the backup has {what}, which this cluster does not know: it is left out")


def _show_access(plan: RestorePlan) -> None:
    said = {"create": "new", "replace": "with the backup's password", "keep": "left as it is"}
    if plan.users:
        print(f"\nusers: {', '.join(f'{each.saved.name} ({said[each.action]})' for each in plan.users)}")
    if plan.acls:
        print(f"\n{count_of(len(plan.acls), 'rule')} that this cluster does not have:")
        for each in plan.acls:
            print(f"  {in_words(each)}")
