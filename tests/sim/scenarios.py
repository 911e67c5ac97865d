"""Which faults a scenario has: its own, and around them all others that can touch it.

Lenses keep to their own faults on purpose: what crashes alone, or links alone, can do is seen best without the rest. A wide
scenario, which has a load or a topic of its own, gets every fault of EVERYWHERE, except those of CANNOT, each with its
reason.
"""

from collections.abc import Mapping
from typing import Final

from sim import directed, disk_storms, restored_stores, topic_faults
from sim.faults import SCENARIOS as OWN
from sim.faults import Fault, Faults

EVERYWHERE: Final[Mapping[Fault, float]] = {
    Faults.kill_one: 1,
    Faults.kill_all: 0.2,
    Faults.power_off_one: 0.5,
    Faults.power_off_all: 0.2,
    Faults.stop_one: 0.5,
    Faults.pause_one: 0.5,
    Faults.isolate_one: 0.5,
    Faults.cut_pair: 0.5,
    Faults.cut_one_way: 0.5,
    Faults.slow_link: 0.5,
    Faults.slow_disk: 0.5,
    Faults.fail_sync: 0.3,
    Faults.fill_disk: 0.3,
    Faults.jump_clock: 0.3,
    Faults.cut_store: 0.7,
    Faults.cut_store_from_all: 0.2,
    Faults.slow_store: 0.3,
    Faults.forget_history: 0.2,
    Faults.bounce_follower: 0.5,
    Faults.change_configs: 0.5,
    Faults.elect_preferred: 0.3,
    Faults.delete_records: 0.3,
    Faults.move_partition: 0.5,
    Faults.rot: 0.2,
    disk_storms.flap_disk: 0.3,
    disk_storms.kill_after_failed_sync: 0.3,
    disk_storms.hang_disk: 0.3,
    disk_storms.fill_to_the_last_byte: 0.2,
    topic_faults.pass_topic: 0.7,
    topic_faults.limit_size: 0.8,
    topic_faults.limit_time: 0.2,
    topic_faults.rot_anywhere: 0.3,
    restored_stores.restore_store: 0.5,
}

WIDE: Final = ("mixed", "groups", "transactions", "moves", "relaxed", "rot")

_NOT_SYNCED = "a relaxed topic acknowledges what is in page caches only, and this takes them away"
CANNOT: Final[Mapping[str, Mapping[Fault, str]]] = {
    "relaxed": {
        Faults.power_off_one: _NOT_SYNCED,
        Faults.power_off_all: _NOT_SYNCED,
        Faults.fail_sync: _NOT_SYNCED,
        disk_storms.flap_disk: _NOT_SYNCED,
        disk_storms.kill_after_failed_sync: _NOT_SYNCED,
        Faults.rot: _NOT_SYNCED,
        topic_faults.rot_anywhere: _NOT_SYNCED,
    },
}
# Faults that wide scenarios do not get, and why.
ONLY_THERE: dict[Fault, str] = {
    topic_faults.cut_power_relaxed: "elsewhere power_off_one does the same without asking who is in sync",
    topic_faults.toggle_flush: "elsewhere all machines lose power at once, and what a relaxed topic acknowledged with them",
    disk_storms.fill_leaders_disk: "fill_disk and fill_to_the_last_byte fill any disk, for a shorter while",
    disk_storms.add_topic: "pass_topic makes topics, and deletes them too",
}
_AIMED = "kills and cuts of EVERYWHERE, aimed at one rule"
ONLY_THERE |= dict.fromkeys((directed.bounce_leader, directed.cut_off_leader, directed.leave_leader_alone), _AIMED)
ONLY_THERE[directed.lower_min_isr] = "plans have a minimum of 1, 2 or 3 there; it matters to one that leads alone"
RELAXED: Final[Mapping[Fault, float]] = {topic_faults.cut_power_relaxed: 1}


def _faults_of(name: str) -> dict[Fault, float]:
    if name not in WIDE:
        return dict(OWN[name])
    cannot = CANNOT.get(name, {})
    added = {**EVERYWHERE, **(RELAXED if name == "relaxed" else {})}
    return {fault: weight for fault, weight in {**added, **OWN[name]}.items() if fault not in cannot}


SCENARIOS: Final[Mapping[str, Mapping[Fault, float]]] = {name: _faults_of(name) for name in OWN}
