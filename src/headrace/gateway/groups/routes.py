"""Groups listed, described, measured and deleted."""

from headrace.admin import groups
from headrace.admin.admin import Admin
from headrace.admin.lag import lag_of
from headrace.gateway.admin.routing import Group, Shared, admin_router
from headrace.gateway.groups.views import (
    GroupLag,
    GroupList,
    GroupListed,
    GroupShown,
    MemberList,
    MemberShown,
    PartitionShown,
    lag_by_topic,
)

router = admin_router("consumer groups")


@router.get("/consumer-groups", summary="List consumer groups")
async def list_groups(gateway: Shared) -> GroupList:
    seen = await groups.describe_groups(gateway.admin, await groups.list_groups(gateway.admin))
    return GroupList(groups=[GroupListed.of(each) for each in seen])


@router.get("/consumer-groups/{group}", summary="Describe a group: members, commits and lag")
async def describe_group(group: Group, gateway: Shared) -> GroupShown:
    seen = await groups.describe_group(gateway.admin, group)
    owners = {id: member.member_id for member in seen.members for id in member.partitions}
    lags = {each.id: each for each in await lag_of(gateway.admin, group)}
    partitions = [PartitionShown.of(id, lags.get(id), owners.get(id)) for id in sorted({*lags, *owners})]
    return GroupShown(
        group=group,
        state=seen.state,
        type=seen.type,
        assignor=seen.assignor,
        coordinator=seen.coordinator,
        lag=sum(each.lag or 0 for each in partitions),
        members=[MemberShown.of(each) for each in seen.members],
        partitions=partitions,
    )


@router.get("/consumer-groups/{group}/members", summary="Who is in a group, and what each reads")
async def members(group: Group, gateway: Shared) -> MemberList:
    seen = await groups.describe_group(gateway.admin, group)
    return MemberList(group=group, members=[MemberShown.of(each) for each in seen.members])


@router.get("/consumer-groups/{group}/lag", summary="How many messages a group is behind (GetLag)")
async def get_lag(group: Group, gateway: Shared) -> GroupLag:
    partitions = await _partitions(gateway.admin, group)
    return GroupLag(
        group=group,
        lag=sum(each.lag or 0 for each in partitions),
        topics=lag_by_topic(partitions),
        partitions=partitions,
    )


async def _partitions(admin: Admin, group: str) -> list[PartitionShown]:
    lags = await lag_of(admin, group)
    if not lags:
        # Either it has committed nothing, or there is no such group: then this raises.
        await groups.describe_group(admin, group)
    return [PartitionShown.of(each.id, each, None) for each in lags]


@router.delete("/consumer-groups/{group}", status_code=204, summary="Delete a group with all it has committed")
async def delete_group(group: Group, gateway: Shared) -> None:
    """Refused while it has members."""
    await groups.require_no_members(gateway.admin, [group])
    await groups.delete_groups(gateway.admin, [group])
