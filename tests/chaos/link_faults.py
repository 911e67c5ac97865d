"""What is done to the links between brokers, their clients and their store; each heals them again.

A broker that is cut off from the store as well loses its lease, and others take over. One that is cut off from its
followers only keeps its lease: it must not acknowledge what they do not have.
"""

from collections.abc import Callable

from chaos.faults import Fault
from chaos.network import CLIENTS, STORE, Network, Orders, cut, links
from chaos.world import World

LinkFault = Callable[[World, Network], None]

# Longer than a lease, and shorter, and about as long.
CUT_SECONDS = (0.5, 6.0)


def on(network: Network, fault: LinkFault) -> Fault:
    """As a fault of the world that this network carries."""

    def play(world: World) -> None:
        fault(world, network)

    play.__name__ = fault.__name__
    return play


def _hold(world: World, network: Network, orders: Orders, least: float, most: float) -> None:
    network.order(orders)
    world.a_moment(least, most)
    network.heal()


def isolate_leader(world: World, network: Network) -> None:
    """From everybody, the store too."""
    victim = str(world.any_leader())
    _hold(world, network, cut([victim], network.everyone), *CUT_SECONDS)


def isolate_leader_until_others_lead(world: World, network: Network) -> None:
    victim = world.any_leader()
    network.order(cut([str(victim)], network.everyone))
    world.until_progress()
    network.heal()


def cut_leader_from_followers(world: World, network: Network) -> None:
    """It still holds its lease and hears its clients; what they write cannot be acknowledged."""
    victim = str(world.any_leader())
    _hold(world, network, cut([victim], network.names), *CUT_SECONDS)


def cut_two_of_three(world: World, network: Network) -> None:
    """A bridge: the third sees both, they do not see each other."""
    one, other = world.rng.sample(network.names, k=2)
    _hold(world, network, cut([one], [other]), *CUT_SECONDS)


def deafen_leader(world: World, network: Network) -> None:
    """One way: it sends, and hears nothing."""
    victim = str(world.any_leader())
    _hold(world, network, links(network.everyone, [victim], loss=1), *CUT_SECONDS)


def mute_leader(world: World, network: Network) -> None:
    """One way: it hears everything, and nobody hears it."""
    victim = str(world.any_leader())
    _hold(world, network, links([victim], network.everyone, loss=1), *CUT_SECONDS)


def cut_store(world: World, network: Network) -> None:
    """All brokers lose the store at once; their leases run out, and they must not go on."""
    _hold(world, network, cut(network.names, [STORE]), *CUT_SECONDS)


def flap(world: World, network: Network) -> None:
    for _ in range(8):
        victim = str(world.any_broker())
        _hold(world, network, cut([victim], network.everyone), 0.1, 0.5)
        world.a_moment(0.1, 0.5)


def slow_links(world: World, network: Network) -> None:
    victim = str(world.any_broker())
    slow = {"delay": 0.1, "jitter": 0.03, "bytes_per_second": 250_000}
    _hold(world, network, links([victim], network.everyone, **slow) | links(network.everyone, [victim], **slow), 3, 5)


def lossy_links(world: World, network: Network) -> None:
    lossy = links(network.names, [*network.names, CLIENTS], loss=0.05, delay=0.005, jitter=0.004)
    _hold(world, network, lossy, 3, 5)


LINK_FAULTS: tuple[LinkFault, ...] = (
    isolate_leader,
    isolate_leader_until_others_lead,
    cut_leader_from_followers,
    cut_two_of_three,
    deafen_leader,
    mute_leader,
    cut_store,
    flap,
    slow_links,
    lossy_links,
)
