"""How many partitions of the cluster nobody leads, as images come and go."""

from headrace.broker.membership.leaderless import Leaderless
from headrace.cluster.entities import NO_LEADER, PartitionState, Topic
from headrace.cluster.image import Image


def topic(name: str, *leaders: int) -> Topic:
    states = tuple(PartitionState((1,), (1,), leader) for leader in leaders)
    return Topic(name, name.encode(), states, {}, False, 0)


def image(*topics: Topic) -> Image:
    return Image(topics={each.name: each for each in topics}, topic_names={each.id: each.name for each in topics})


def test_it_follows_the_image() -> None:
    leaderless = Leaderless()
    led, lost = topic("led", 1, 2), topic("lost", 1, NO_LEADER, NO_LEADER)
    assert leaderless.count(image(led)) == 0
    assert leaderless.count(image(led, lost)) == 2
    assert leaderless.count(image(led, lost)) == 2, "asked again"
    assert leaderless.count(image(led, topic("lost", 1, NO_LEADER, 3))) == 1
    assert leaderless.count(image(led)) == 0, "the topic is gone"
