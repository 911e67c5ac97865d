"""Storms over consumer groups: members of one protocol or both read and commit while coordinators die and come back."""

from collections.abc import Mapping
from random import Random

from sim.checks import Checks
from sim.group_ledger import GroupLedger
from sim.group_members import ClassicMember, GroupMember, NextMember
from sim.storm import TOPIC, Outcome, Plan, Storm, run_storm
from sim.world import World

KINDS: dict[str, tuple[type[GroupMember], ...]] = {
    "classic": (ClassicMember,),
    "consumer": (NextMember,),
    "mixed": (ClassicMember, NextMember),
}
SETTINGS = {"offsets.topic.num.partitions": "2"}


def group_plan(seed: int, scenario: str, brokers: int) -> Plan:
    rng = Random(f"group plan {seed}")
    return Plan(seed, scenario, brokers, partitions=rng.choice((2, 3, 5)), producers=1, consumers=0, pace=1.0)


def run_group_storm(
    plan: Plan, kind: str, verbose: bool = False, settings: Mapping[str, str] = SETTINGS
) -> tuple[Outcome, int]:
    """The outcome, and how many commits were acknowledged."""
    storms: list[GroupStorm] = []

    def make(plan: Plan, world: World, checks: Checks) -> Storm:
        storms.append(GroupStorm(plan, world, checks, kind))
        return storms[-1]

    outcome = run_storm(plan, verbose, make, settings)
    return outcome, storms[0].ledger.commits


def storm_of_any_kind(plan: Plan, world: World, checks: Checks) -> "GroupStorm":
    return GroupStorm(plan, world, checks, list(KINDS)[plan.seed % len(KINDS)])


class GroupStorm(Storm):
    def __init__(self, plan: Plan, world: World, checks: Checks, kind: str) -> None:
        super().__init__(plan, world, checks)
        self.ledger = GroupLedger(world, checks)
        self._kinds = KINDS[kind]
        self._members: list[GroupMember] = []

    def _start(self) -> None:
        super()._start()
        if not self._is_over:
            for number in range(3):
                kind = self._kinds[number % len(self._kinds)]
                name = f"m{number}"
                self._members.append(kind(self._world, self.ledger, name, TOPIC, self._plan.partitions))

    def _missing(self) -> str:
        missing = super()._missing()
        if missing:
            return missing
        for member in self._members:
            if not member.is_settled:
                return f"member {member.name} is not settled"
        held = sorted(part.partition for member in self._members for part in member.holder.held)
        return "" if held == list(range(self._plan.partitions)) else f"members read partitions {held}"
