"""Rounds: each peer started fresh, warmed, put through every scenario, stopped; then the other; then again.

The peers never run at the same time, and who goes first changes from round to round, so a machine that slows down or
speeds up during the bench does not favour one of them.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException

from bench import disk, proc
from bench.broker import Peer, Running, running
from bench.native import ClientError, Clients
from bench.rows import MACHINE, OURS, Measured
from bench.scenarios import Scenario, Stage, warm_up


@dataclass
class Bench:
    peers: dict[str, Peer]  # by side: ours, theirs
    clients: Clients
    scenarios: list[Scenario]
    sizes: list[int]  # of clusters, one after the other
    rounds: int
    scale: float
    data: Path
    port: int
    say: Callable[[str], None]

    def run(self) -> tuple[Measured, list[str]]:
        """All figures, and a sentence for each scenario that could not be measured."""
        measured: Measured = {side: {} for side in (*self.peers, MACHINE)}
        failures: list[str] = []
        for number in range(self.rounds):
            self.say(f"round {number + 1} of {self.rounds}")
            for side in self._order(number):
                synced = disk.synced_write_mb_per_s(self.data / "disk", 5 * self.scale)
                _keep(measured[MACHINE], "disk.synced_mb_per_s", synced)
                self.say(f"  the machine's synced writes: {synced:.0f} MB/s")
                latency = disk.synced_write_p99_ms(self.data / "disk", 5 * self.scale)
                _keep(measured[MACHINE], "disk.fdatasync_p99_ms", latency)
                for brokers in self.sizes:
                    self._one_peer(self.peers[side], brokers, number, measured[side], failures)
        for number in range(max((scenario.fresh_runs for scenario in self.scenarios), default=0)):
            for scenario in self.scenarios:
                if number < self._fresh_runs(scenario):
                    self._play_on_fresh(scenario, number, measured, failures)
        return measured, failures

    def _shared(self) -> list[Scenario]:
        return [scenario for scenario in self.scenarios if not scenario.fresh_runs]

    def _order(self, number: int) -> list[str]:
        sides = list(self.peers)
        return sides if number % 2 == 0 else sides[::-1]

    def _one_peer(
        self, peer: Peer, brokers: int, number: int, figures: dict[str, list[float]], failures: list[str]
    ) -> None:
        others = proc.OtherWork()
        kind = "process" if brokers == 1 else f"cluster-{brokers}"
        with running(peer, self.data / "broker", brokers, self.port) as broker:
            _keep(figures, f"{kind}.others_cpu_share", others.share())
            time.sleep(1)  # idle means idle: what the start left to do is done
            _keep(figures, f"{kind}.start_s", broker.start_s)
            _keep(figures, f"{kind}.idle_rss_mb", broker.rss_mb() / brokers)
            _keep(figures, f"{kind}.idle_with_launcher_mb", broker.rss_with_launcher_mb())
            idle = figures[f"{kind}.idle_rss_mb"][-1]
            self.say(f"  {peer.name}, {brokers} up in {broker.start_s:.2f} s, {idle:.0f} MB each")
            self._play_all(broker, brokers, number, figures, failures)
            _keep(figures, f"{kind}.after_rss_mb", broker.rss_mb() / brokers)
            _keep(figures, f"{kind}.peak_rss_mb", broker.peak_rss_mb() / brokers)

    def _play_all(
        self, broker: Running, brokers: int, number: int, figures: dict[str, list[float]], failures: list[str]
    ) -> None:
        stage = Stage(broker, self.clients, self.scale, number)
        wanted = [
            scenario
            for scenario in self._shared()
            if scenario.brokers == brokers and (number == 0 or not scenario.once)
        ]
        if wanted:
            warm_up(stage)
        for scenario in wanted:
            self._play(scenario, stage, figures, failures)

    def _fresh_runs(self, scenario: Scenario) -> int:
        return max(1, round(scenario.fresh_runs * self.scale)) if scenario.fresh_runs else 0

    def _play_on_fresh(self, scenario: Scenario, number: int, measured: Measured, failures: list[str]) -> None:
        for side in [OURS] if scenario.ours_only else self._order(number):
            if side not in self.peers:
                continue
            peer = self.peers[side]
            self.say(f"  {peer.name}: {scenario.name}, run {number + 1}")
            with running(peer, self.data / "broker", scenario.brokers, self.port) as broker:
                stage = Stage(broker, self.clients, self.scale, number)
                self._play(scenario, stage, measured[side], failures)

    def _play(self, scenario: Scenario, stage: Stage, figures: dict[str, list[float]], failures: list[str]) -> None:
        began, others = time.monotonic(), proc.OtherWork()
        try:
            found = scenario.play(stage)
        except (ClientError, KafkaException, TimeoutError) as error:
            failures.append(f"{stage.broker.peer.name}, {scenario.name}, round {stage.round + 1}: {error}")
            self.say(f"    {failures[-1]}")
            return
        found["others_cpu_share"] = others.share()
        for what, value in found.items():
            _keep(figures, f"{scenario.name}.{what}", value)
        shown = "  ".join(f"{what} {value:,.4g}" for what, value in found.items() if not what.endswith("count"))
        self.say(f"    {scenario.name} ({time.monotonic() - began:.0f} s): {shown}")


def _keep(figures: dict[str, list[float]], name: str, value: float) -> None:
    figures.setdefault(name, []).append(value)
