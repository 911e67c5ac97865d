"""Moving data about in a cluster of four under load, with the command line: nothing is lost, nothing is late for ever."""

import contextlib
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

from traffic import EXACTLY_ONCE, Traffic

from clients.client import Record
from headrace.admin.survey import Survey


def replicas_on(seen: Survey, broker: int) -> int:
    return sum(broker in each.replicas for each in seen.partitions.values())


def load_of(seen: Survey) -> Counter[int]:
    return Counter(replica for each in seen.partitions.values() for replica in each.replicas)


def test_drain(four) -> None:
    topic = four.create("orders", partitions=8)
    with Traffic(four.cluster.bootstrap, topic, **EXACTLY_ONCE) as traffic:
        before = replicas_on(four.survey(), 2)
        plan = four.cli("cluster", "drain", "2", "--dry-run", "--json").json
        assert (len(plan["moves"]), plan["done"]) == (before, False)
        assert replicas_on(four.survey(), 2) == before, "a dry run moves nothing"
        four.cli("cluster", "drain", "2", "--yes")
        assert replicas_on(four.until_healthy(), 2) == 0
        traffic.progress()
        four.cluster.stop(2)
        traffic.progress()
    traffic.check(four.live_bootstrap)


def test_replace_a_dead_broker(four) -> None:
    topic = four.create("orders", partitions=8)
    with Traffic(four.cluster.bootstrap, topic, **EXACTLY_ONCE) as traffic:
        four.cluster.kill(3)
        traffic.progress()
        assert "drain it first" in four.cli("cluster", "forget", "3", expect=4).err
        successor = four.cluster.add()
        before = replicas_on(four.survey(), 3)
        four.cli("cluster", "replace", "3", str(successor), "--yes")
        seen = four.until_healthy()
        assert (replicas_on(seen, 3), replicas_on(seen, successor)) == (0, before)
        traffic.progress()
        assert "is alive" in four.cli("cluster", "forget", "2", expect=4).err
        four.cli("cluster", "forget", "3")
        four.until(lambda seen: sorted(seen.brokers) == [1, 2, 4, successor])
    traffic.check(four.live_bootstrap)


def test_add_and_rebalance(three) -> None:
    topic = three.create("orders", partitions=8)
    with Traffic(three.cluster.bootstrap, topic, **EXACTLY_ONCE) as traffic:
        joined = three.cluster.add()
        assert three.cli("cluster", "rebalance", "--dry-run", "--json").json["moves"]
        three.cli("cluster", "add", "--yes")
        seen = three.until_healthy()
        assert load_of(seen) == {1: 6, 2: 6, 3: 6, joined: 6}
        assert Counter(each.leader for each in seen.partitions.values()) == {1: 2, 2: 2, 3: 2, joined: 2}
        assert "nothing to move" in three.cli("cluster", "rebalance", "--yes").out
        assert "hold" in three.cli("cluster", "add", "--yes", expect=3).err
        traffic.progress()
    traffic.check()


def test_more_and_fewer_replicas(three) -> None:
    topic = three.create("orders", partitions=4, replication_factor=1)
    with Traffic(three.cluster.bootstrap, topic, **EXACTLY_ONCE) as traffic:
        for count in (3, 2):
            three.cli("cluster", "replicas", topic, str(count), "--yes")
            assert all(len(each.isr) == count for each in three.until_healthy().partitions.values())
            traffic.progress()
    traffic.check()


@contextlib.contextmanager
def watched(lab, *words: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-m", "headrace.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HEADRACE_BOOTSTRAP": lab.cluster.bootstrap},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_throttled_move_can_be_interrupted_resumed_and_cancelled(four) -> None:
    """At a rate of nearly nothing the move never ends, producers notice nothing, and every way on works."""
    topic, bulk = four.create("orders", partitions=4), four.create("bulk", partitions=4)
    # A throttle is overdrawn by one answer at most, a megabyte of a partition: there must be more than that to copy.
    for partition in range(4):
        four.client.produce(bulk, [Record(None, b"v" * 10_000)] * 400, partition=partition)
    with Traffic(four.cluster.bootstrap, topic, **EXACTLY_ONCE) as traffic:
        with watched(four, "cluster", "drain", "1", "--yes", "--throttle", "1kB") as watching:
            assert "moving: " in watching.stderr.readline()
            watching.send_signal(signal.SIGINT)
            _, err = watching.communicate(timeout=60)
            assert (watching.returncode, "reassignments --watch" in err) == (130, True)
        traffic.progress()

        moving = four.survey().moving
        assert bulk in {each.id.topic for each in moving}, "it goes on, slowly"
        assert all(set(each.targets) - set(each.isr) <= set(each.adding) for each in moving), "the others are in sync"
        listed = four.cli("cluster", "reassignments", "--json").json
        assert {each["topic"] for each in listed} >= {bulk}
        again = four.cli("cluster", "drain", "1", "--yes", "--no-wait")
        assert "already moving" in again.out

        four.cli("cluster", "reassignments", "--cancel", "--yes")
        assert replicas_on(four.until_healthy(), 1) > 0, "what had not moved yet is where it was"
        assert four.client.config(bulk)["follower.replication.throttled.replicas"] == ""
        four.cli("cluster", "drain", "1", "--yes")
        assert replicas_on(four.until_healthy(), 1) == 0
    traffic.check()


def test_leaders_go_back_to_their_preferred_replicas(three) -> None:
    three.create("orders", partitions=6)
    three.cluster.restart(1)
    three.until_healthy()
    assert three.cli("cluster", "status", "--json").json["not_led_by_preferred"] == 2
    plan = three.cli("cluster", "elect", "--dry-run", "--json").json
    assert [row["then"] for row in plan] == [1, 1]
    three.cli("cluster", "elect", "--yes")
    three.until(lambda seen: all(each.leader == each.replicas[0] for each in seen.partitions.values()))


def test_an_unclean_election_is_asked_for_and_warned_of(three) -> None:
    topic = three.create("orders", partitions=1, replication_factor=2, min_insync_replicas="1")
    leader, follower = next(iter(three.survey().partitions.values())).replicas
    three.cluster.kill(follower)
    three.until(lambda seen: all(each.isr == (leader,) for each in seen.partitions.values()))
    three.cluster.kill(leader)
    three.cluster.start(follower)
    status = three.cli("cluster", "status").out
    assert "1 offline" in status
    plan = three.cli("cluster", "elect", "--unclean", "--dry-run")
    assert "may lack messages" in plan.err
    assert three.survey().partitions[(topic, 0)].leader is None
    three.cli("cluster", "elect", "--unclean", "--yes")
    three.until(lambda seen: seen.partitions[(topic, 0)].leader == follower)


def test_wrong_wishes_are_refused_in_plain_words(three) -> None:
    three.create("orders", partitions=1)
    assert "no broker 9" in three.cli("cluster", "drain", "9", "--yes", expect=3).err
    assert "start another" in three.cli("cluster", "drain", "1", "--yes", expect=4).err
    assert "not alive" in three.cli("cluster", "replace", "1", "9", "--yes", expect=4).err
    assert "--yes" in three.cli("cluster", "drain", "1", "--json", expect=2).err
    assert "no rate" in three.cli("cluster", "rebalance", "--throttle", "fast", expect=2).err
    assert "no topic" in three.cli("cluster", "elect", "nowhere", "--yes", expect=3).err
    assert "no partition is moving" in three.cli("cluster", "reassignments", "--watch").out


def test_a_partition_that_comes_back_is_not_taken_for_a_damaged_one(capfd, four) -> None:
    """What a broker wrote down of a log that has left it says nothing of the log that comes later."""
    topic = four.create("orders", partitions=4)
    with Traffic(four.cluster.bootstrap, topic, **EXACTLY_ONCE) as traffic:
        traffic.progress(200)
        four.cluster.restart(3)
        four.until_healthy()
        four.cli("cluster", "drain", "3", "--yes")
        assert replicas_on(four.until_healthy(), 3) == 0
        four.cli("cluster", "add", "--yes")
        assert replicas_on(four.until_healthy(), 3) == 3
        assert "damaged" not in capfd.readouterr().err
    traffic.check()


def test_what_moved_while_its_broker_was_dead_is_set_aside(four) -> None:
    topic = four.create("orders", partitions=4)
    four.client.produce(topic, [Record(None, b"v" * 100)] * 100)
    logs = four.cluster.data / "broker-3" / "logs"
    held = sorted(path.name for path in logs.iterdir())
    four.cluster.kill(3)
    four.cli("cluster", "drain", "3", "--yes")
    four.cluster.start(3)
    assert sorted(path.name for path in logs.iterdir()) == [f"{name}.stray" for name in held]
    four.cli("cluster", "add", "--yes")
    assert replicas_on(four.until_healthy(), 3) == 3
