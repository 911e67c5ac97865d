"""Replication and fail-over as clients with default settings see them: nothing acknowledged is lost, no report fails."""

from collections import Counter

from traffic import Traffic


def test_what_is_acknowledged_is_on_all_replicas(three) -> None:
    topic = three.create("orders")
    with Traffic(three.cluster.bootstrap, topic) as traffic:
        traffic.progress(500)
    traffic.check()
    seen = three.until(
        lambda seen: all(
            len({replica.size_bytes for replica in each.held.values()}) == 1
            and [replica.lag for replica in each.held.values()] == [0, 0, 0]
            for each in seen.partitions.values()
        )
    )
    assert all(len(each.held) == 3 for each in seen.partitions.values())
    assert sum(each.size_bytes for each in seen.partitions.values()) > 500 * 200


def until_led_by_others(lab, broker: int) -> None:
    lab.until(
        lambda seen: (
            not seen.brokers[broker].is_alive
            and all(each.leader not in (None, broker) for each in seen.partitions.values())
        )
    )


def test_a_killed_leader_is_replaced_and_nothing_is_lost(three) -> None:
    topic = three.create("orders")
    with Traffic(three.cluster.bootstrap, topic) as traffic:
        for broker in three.cluster.ids:
            traffic.progress()
            three.cluster.kill(broker)
            until_led_by_others(three, broker)
            traffic.progress()
            three.cluster.start(broker)
            three.until_healthy()
    traffic.check()


def test_a_rolling_restart_fails_no_delivery(three) -> None:
    topic = three.create("orders")
    with Traffic(three.cluster.bootstrap, topic) as traffic:
        for broker in three.cluster.ids:
            three.cluster.restart(broker)
            three.until_healthy()
            traffic.progress()
    traffic.check()
    leaders = Counter(each.leader for each in three.survey().partitions.values())
    assert set(leaders) <= {1, 2, 3}


def test_all_brokers_die_at_once_and_come_back(three) -> None:
    topic = three.create("orders")
    with Traffic(three.cluster.bootstrap, topic) as traffic:
        traffic.progress(300)
        three.cluster.kill()
        three.cluster.start()
        traffic.progress(300)
        three.until_healthy()
    traffic.check()


def test_more_partitions_on_a_live_topic(three) -> None:
    topic = three.create("orders", partitions=2)
    # The client looks for new partitions when it refreshes what it knows; not in five minutes, as by default, here.
    with Traffic(three.cluster.bootstrap, topic, **{"topic.metadata.refresh.interval.ms": 500}) as traffic:
        three.client.create_partitions(topic, 8)
        # The broker that made them knows them first.
        three.until(lambda seen: len(seen.partitions) == 8)
        three.until_healthy()
        while len(traffic.partitions) < 8:
            traffic.progress()
    traffic.check()
