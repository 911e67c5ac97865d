"""Topic `t` on four brokers, as the controller sees them: the commands of tests/golden/failover."""

from partitions import DEFAULTS, cluster, epochs, states

from headrace.cluster.decide import heal, shut_down
from headrace.cluster.entities import NO_LEADER, PartitionState
from headrace.cluster.store import Commit


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(",") if each)


class FailoverWorld:
    def partitions(self, *replicas: str, **settings: str) -> list[str]:
        """One partition for each list of replicas, all in sync, led by the first."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        made = [PartitionState(numbers(each), numbers(each), numbers(each)[0], 1) for each in replicas]
        self.ledger = cluster(*made, config=named)
        self.live = dict(epochs(self.ledger))
        return self._partitions()

    def dies(self, broker: str) -> list[str]:
        del self.live[int(broker)]
        return self._heal()

    def is_back(self, broker: str) -> list[str]:
        self.live[int(broker)] = epochs(self.ledger)[int(broker)]
        return self._heal()

    def leaves(self, broker: str) -> list[str]:
        """SIGTERM: leaders move before it stops."""
        return self._run(shut_down(self.ledger.image, int(broker), self.live, (), DEFAULTS))

    def is_full(self, broker: str) -> list[str]:
        """Its disk has no room: it leads only what nobody else can."""
        return self._run(heal(self.ledger.image, self.live, (int(broker),), DEFAULTS).commits)

    def _heal(self) -> list[str]:
        decision = heal(self.ledger.image, self.live, (), DEFAULTS)
        said = self._run(decision.commits)
        assert not heal(self.ledger.image, self.live, (), DEFAULTS).commits, "something is left to do"
        return [*said, f"unclean elections: {decision.unclean}"] if decision.unclean else said

    def _run(self, commits: list[Commit]) -> list[str]:
        before = self._partitions()
        self.ledger.run(commits)
        changed = [line for line, old in zip(self._partitions(), before, strict=True) if line != old]
        return changed or ["nothing to do"]

    def _partitions(self) -> list[str]:
        return [self._line(index, state) for index, state in enumerate(states(self.ledger))]

    @staticmethod
    def _line(index: int, state: PartitionState) -> str:
        leader = "nobody" if state.leader == NO_LEADER else f"broker {state.leader}"
        eligible = f", eligible {','.join(map(str, state.elr))}" if state.elr else ""
        return f"t-{index}: {leader} leads in epoch {state.leader_epoch}, in sync {','.join(map(str, state.isr))}{eligible}"
