"""How long a partition acknowledges nothing when something fails, measured on real processes, and what a year adds up to.

    python -m tests.chaos.availability [--rounds 10] [--only FAULT …] [--json]

Each fault hits a cluster of three brokers (RF 3, min.insync.replicas 2, acks=all, durable topics, default settings) so many
times; the figure of a round is the worst of the partitions that it concerns. Beside it stands what librdkafka with its
defaults saw. What a year costs is calculated from the worst round of each fault and the rates written down in `FAULTS`.
Needs root: disks that hang, namespaces, the kernel's freezer. A fault that this machine cannot play is said to be left out.
"""

import argparse
import contextlib
import errno
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from chaos.cluster import Cluster
from chaos.disks import Disk
from chaos.freezer import has_freezer
from chaos.hung_disks import HungDisks, can_hang
from chaos.network import Network, cut, has_namespaces
from chaos.prober import DefaultProducer, Prober
from chaos.up_cluster import UpCluster
from etcd_cluster import EtcdCluster, MissingEtcd

TOPIC, PARTITIONS = "probed", 6
YEAR_S = 365 * 24 * 3600
# A fault is held until the prober is acknowledged again and this much longer; never longer than the most.
HELD_S, HELD_S_MAX = 1.0, 20.0
BACK_S_MAX = 60.0
LONG_S = 40.0


class Stage:
    """A cluster with what faults need to be played on it."""

    def __init__(self, cluster: Cluster, tools: Any = None) -> None:
        self.cluster = cluster
        self.tools = tools
        self.places = [(TOPIC, partition) for partition in range(PARTITIONS)]

    def led_by(self, broker: int) -> list[int]:
        return [place[1] for place, leader in self.cluster.leaders().items() if place[0] == TOPIC and leader == broker]

    def not_led_by(self, broker: int) -> list[int]:
        return [number for number in range(PARTITIONS) if number not in self.led_by(broker)]

    def leader(self) -> int:
        return self.cluster.leader(self.places[0])

    def follower(self) -> int:
        return next(each for each in self.cluster.ids if each != self.leader())


class Hit(NamedTuple):
    """What was done: the partitions it concerns, and how it is mended."""

    partitions: list[int]
    mend: Callable[[], object]


class Fault(NamedTuple):
    name: str
    stage: str
    play: Callable[[Stage], Hit]
    yearly: float
    """How often it hits one partition in a year: its leader, or one of its two followers, or the cluster."""
    once: bool = False
    """Shown in one round: it takes long, and is always the same."""


class Measured(NamedTuple):
    fault: Fault
    gaps: list[float]
    librdkafka: list[float]


# -- faults --------------------------------------------------------------------------------------------------------------


def kill_leader(stage: Stage) -> Hit:
    victim = stage.leader()
    hit = Hit(stage.led_by(victim), lambda: stage.cluster.start(victim))
    stage.cluster.kill(victim)
    return hit


def kill_controller(stage: Stage) -> Hit:
    victim = stage.cluster.controller()
    stage.cluster.kill(victim)
    return Hit(list(range(PARTITIONS)), lambda: stage.cluster.start(victim))


def bounce_leader(stage: Stage) -> Hit:
    victim = stage.leader()
    hit = Hit(stage.led_by(victim), lambda: stage.cluster.start(victim))
    stage.cluster.stop(victim)
    return hit


def pause_leader(stage: Stage) -> Hit:
    victim = stage.leader()
    hit = Hit(stage.led_by(victim), lambda: stage.cluster.resume(victim))
    stage.cluster.pause(victim)
    return hit


def stop_leader_for_good(stage: Stage) -> Hit:
    """Nobody wakes it, unless whoever started it does something about it: what clients see then."""
    hit = pause_leader(stage)
    time.sleep(LONG_S)
    return hit


def freeze_leader(stage: Stage) -> Hit:
    victim = stage.leader()
    hit = Hit(stage.led_by(victim), lambda: stage.cluster.resume(victim))
    stage.cluster.freeze(victim)
    return hit


def pause_in_a_write(stage: Stage) -> Hit:
    victim = stage.cluster.controller()
    stage.cluster.pause_in_a_write(victim)
    return Hit(list(range(PARTITIONS)), lambda: stage.cluster.resume(victim))


def hang_leader_disk(stage: Stage) -> Hit:
    victim = stage.leader()
    hit = Hit(stage.led_by(victim), lambda: stage.tools.let_go(victim))
    stage.tools.hang(victim)
    return hit


def hang_follower_disk(stage: Stage) -> Hit:
    victim = stage.follower()
    hit = Hit(stage.not_led_by(victim), lambda: stage.tools.let_go(victim))
    stage.tools.hang(victim)
    return hit


def fill_leader_disk(stage: Stage) -> Hit:
    """To the last block."""
    victim = stage.leader()
    folder = stage.cluster.folder(victim)
    hit = Hit(stage.led_by(victim), (folder / "ballast").unlink)
    _fill(folder)
    return hit


def _fill(folder: Path) -> None:
    ballast = os.open(folder / "ballast", os.O_CREAT | os.O_WRONLY)
    try:
        for size in (256 << 20, 1 << 20, 4096):
            with contextlib.suppress(OSError):
                while True:
                    os.posix_fallocate(ballast, os.fstat(ballast).st_size, size)
    finally:
        os.close(ballast)


def reboot_all(stage: Stage) -> Hit:
    """All processes of the cluster end at once and start at once; a machine's own start comes on top."""
    stage.cluster.kill(*stage.cluster.ids)
    stage.cluster.start(*stage.cluster.ids)
    return Hit(list(range(PARTITIONS)), lambda: None)


def fail_sync_of_leader(stage: Stage) -> Hit:
    victim = stage.leader()

    def mend() -> None:
        stage.cluster.until_dead(victim)
        stage.tools[victim - 1].heal()
        stage.cluster.start(victim)

    hit = Hit(stage.led_by(victim), mend)
    stage.tools[victim - 1].order(sync_errno=errno.EIO)
    return hit


def hang_syncs_of_leader(stage: Stage) -> Hit:
    """Writes are taken, and their sync does not come back."""
    victim = stage.leader()
    hit = Hit(stage.led_by(victim), stage.tools[victim - 1].heal)
    stage.tools[victim - 1].order(sync_seconds=HELD_S_MAX)
    return hit


def isolate_leader(stage: Stage) -> Hit:
    victim = stage.leader()
    hit = Hit(stage.led_by(victim), stage.tools.heal)
    stage.tools.order(cut([str(victim)], stage.tools.everyone))
    return hit


FAULTS = (
    Fault("kill -9 of the leader", "hung", kill_leader, 12),
    Fault("kill -9 of the controller", "hung", kill_controller, 12),
    Fault("SIGTERM and start of the leader", "hung", bounce_leader, 52),
    Fault("SIGSTOP of the leader", "hung", pause_leader, 12),
    Fault("kernel freezer on the leader", "hung", freeze_leader, 12),
    Fault("paused in a write to the store", "hung", pause_in_a_write, 1),
    Fault("hung disk of the leader", "hung", hang_leader_disk, 4),
    Fault("hung disk of a follower", "hung", hang_follower_disk, 8),
    Fault("all killed and started", "hung", reboot_all, 2),
    Fault("full disk of the leader", "hung", fill_leader_disk, 1),
    Fault("EIO of the leader's sync", "faulty", fail_sync_of_leader, 1),
    Fault("hung syncs of the leader", "faulty", hang_syncs_of_leader, 4),
    Fault("leader cut off from all (etcd)", "network", isolate_leader, 4),
    Fault("SIGSTOP for 40 s, `headrace serve`", "hung", stop_leader_for_good, 0, once=True),
    Fault("SIGSTOP for 40 s, `headrace up`", "up", stop_leader_for_good, 0, once=True),
)


# -- stages --------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def hung(folder: Path) -> Iterator[Stage]:
    if not (can_hang() and has_freezer()):
        raise NotHere("needs root, loop devices, fsfreeze and cgroup v2")
    with HungDisks(folder) as disks, Cluster(folder, log_level="error") as cluster:
        yield Stage(cluster, disks)


@contextlib.contextmanager
def faulty(folder: Path) -> Iterator[Stage]:
    disks = [Disk(folder, number) for number in (1, 2, 3)]
    with Cluster(folder, [disk.host for disk in disks], log_level="error") as cluster:
        yield Stage(cluster, disks)


@contextlib.contextmanager
def network(folder: Path) -> Iterator[Stage]:
    if not has_namespaces():
        raise NotHere("needs root and /dev/net/tun")
    with Network() as network:
        try:
            etcd = EtcdCluster(folder / "etcd", 3, host=network.store_address)
        except MissingEtcd as missing:
            raise NotHere(str(missing)) from None
        with etcd, Cluster(folder, network.hosts, etcd.url("/availability"), log_level="error") as cluster:
            yield Stage(cluster, network)
            network.heal()


@contextlib.contextmanager
def up(folder: Path) -> Iterator[Stage]:
    with UpCluster(folder) as cluster:
        yield Stage(cluster)


class NotHere(Exception):
    """This machine has not what the stage needs."""


STAGES = {"hung": hung, "faulty": faulty, "network": network, "up": up}


# -- measuring -----------------------------------------------------------------------------------------------------------


def measure_stage(stage: Stage, faults: Sequence[Fault], rounds: int) -> Iterator[Measured]:
    cluster = stage.cluster
    cluster.create_topic(TOPIC, PARTITIONS, {})
    clients = Prober(cluster.bootstrap, TOPIC, PARTITIONS), DefaultProducer(cluster.bootstrap, TOPIC, PARTITIONS)
    for client in clients:
        client.start()
    try:
        for fault in faults:
            pairs = [_round(stage, fault, *clients) for _ in range(1 if fault.once else rounds)]
            measured = Measured(fault, [gap for gap, _ in pairs], [gap for _, gap in pairs])
            _say(measured)
            yield measured
    finally:
        for client in clients:
            client.stop()


def _round(stage: Stage, fault: Fault, prober: Prober, default: DefaultProducer) -> tuple[float, float]:
    everywhere = range(PARTITIONS)
    stage.cluster.until_whole(stage.places)
    _until(lambda: prober.acks.has_since(everywhere, time.monotonic() - 0.5), BACK_S_MAX)
    _until(lambda: default.acks.has_since(everywhere, time.monotonic() - 0.5), BACK_S_MAX)
    begun = time.monotonic()
    hit = fault.play(stage)
    try:
        # An ack that was on its way when it happened is no answer to it.
        _until(lambda: prober.acks.has_since(hit.partitions, max(begun + 0.5, time.monotonic() - HELD_S)), HELD_S_MAX)
        time.sleep(HELD_S)
        gap = prober.acks.longest_gap(hit.partitions, begun)
        if not prober.acks.has_since(hit.partitions, time.monotonic() - HELD_S):
            gap = HELD_S_MAX
    finally:
        hit.mend()
    mended = time.monotonic()
    _until(lambda: default.acks.has_since(hit.partitions, mended), BACK_S_MAX)
    return gap, default.acks.longest_gap(hit.partitions, begun)


def _until(reached: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not reached() and time.monotonic() < deadline:
        time.sleep(0.02)


def _say(measured: Measured) -> None:
    gaps = " ".join(f"{gap:.2f}" for gap in measured.gaps)
    theirs = " ".join(f"{gap:.2f}" for gap in measured.librdkafka)
    print(f"{measured.fault.name}: {gaps} (librdkafka {theirs})", file=sys.stderr, flush=True)


# -- the year ------------------------------------------------------------------------------------------------------------


def lost_seconds(measured: Measured) -> float:
    fault = measured.fault
    return fault.yearly * max(measured.gaps)


def availability(results: Sequence[Measured]) -> float:
    """The share of a year in which a partition takes writes."""
    return 1 - sum(map(lost_seconds, results)) / YEAR_S


def markdown(results: Sequence[Measured], left_out: Sequence[str], commit: str) -> str:
    head = "| fault | brokers: p50 | worst | librdkafka: p50 | worst | times a year | seconds a year |"
    rows = [_row(measured) for measured in results]
    total = sum(map(lost_seconds, results))
    last = f"| all | | | | | | {total:.0f}: **{availability(results):.4%}** |"
    rounds = max((len(each.gaps) for each in results), default=0)
    title = f"Seconds without an ack, of {rounds} rounds each, commit {commit}:"
    return "\n".join([title, "", head, "|---|---|---|---|---|---|---|", *rows, last, *left_out])


def _row(measured: Measured) -> str:
    fault, gaps, theirs = measured
    seconds = [f"{each:.2f}" for each in (median(gaps), max(gaps), median(theirs), max(theirs))]
    cells = [fault.name, *seconds, f"{fault.yearly:g}"]
    return f"| {' | '.join(cells)} | {lost_seconds(measured):.0f} |"


def commit() -> str:
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    ).stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument(
        "--only",
        nargs="*",
        default=[],
        metavar="FAULT",
        choices=[fault.play.__name__ for fault in FAULTS],
        help="names of functions, kill_leader for one",
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    chosen = [fault for fault in FAULTS if not options.only or fault.play.__name__ in options.only]
    measured_commit = commit()
    results, left_out = run(chosen, options.rounds)
    if options.json:
        print(json.dumps([{**each._asdict(), "fault": each.fault.name} for each in results]))
    else:
        print(markdown(results, left_out, measured_commit))
    return 0


def run(chosen: Sequence[Fault], rounds: int) -> tuple[list[Measured], list[str]]:
    results: list[Measured] = []
    left_out = []
    for name, open_stage in STAGES.items():
        faults = [fault for fault in chosen if fault.stage == name]
        if not faults:
            continue
        with tempfile.TemporaryDirectory(prefix="headrace-availability-") as folder:
            try:
                with open_stage(Path(folder)) as stage:
                    results += measure_stage(stage, faults, rounds)
            except NotHere as reason:
                left_out.append(f"\nLeft out: {', '.join(fault.name for fault in faults)} ({reason}).")
    return results, left_out


if __name__ == "__main__":
    sys.exit(main())
