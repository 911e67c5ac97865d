"""Rounds: each peer started fresh, warmed, put through every scenario, stopped; then the other; then again.

The peers never run at the same time, and who goes first changes from round to round, so a machine that slows down or
speeds up during the bench does not favour one of them.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import disk, proc
from bench.broker import Peer, Running, running
from bench.native import ClientError, Clients
from bench.rows import MACHINE, Measured
from bench.scenarios import Scenario, Stage, warm_up


@dataclass
class Bench:
    peers: dict[str, Peer]  # by side: ours, theirs
    clients: Clients
    scenarios: list[Scenario]
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
                self._one_peer(self.peers[side], number, measured[side], failures)
        return measured, failures

    def _order(self, number: int) -> list[str]:
        sides = list(self.peers)
        return sides if number % 2 == 0 else sides[::-1]

    def _one_peer(self, peer: Peer, number: int, figures: dict[str, list[float]], failures: list[str]) -> None:
        others = proc.OtherWork()
        with running(peer, self.data / "broker", port=self.port) as broker:
            _keep(figures, "process.others_cpu_share", others.share())
            time.sleep(1)  # idle means idle: what the start left to do is done
            _keep(figures, "process.start_s", broker.start_s)
            _keep(figures, "process.idle_rss_mb", broker.rss_mb())
            _keep(figures, "process.idle_with_launcher_mb", broker.rss_with_launcher_mb())
            self.say(f"  {peer.name}: up in {broker.start_s:.2f} s, {figures['process.idle_rss_mb'][-1]:.0f} MB")
            self._play_all(broker, number, figures, failures)
            _keep(figures, "process.after_rss_mb", broker.rss_mb())
            _keep(figures, "process.peak_rss_mb", broker.peak_rss_mb())

    def _play_all(self, broker: Running, number: int, figures: dict[str, list[float]], failures: list[str]) -> None:
        stage = Stage(broker, self.clients, self.scale)
        wanted = [scenario for scenario in self.scenarios if number == 0 or not scenario.once]
        if wanted:
            warm_up(stage)
        for scenario in wanted:
            began, others = time.monotonic(), proc.OtherWork()
            try:
                found = scenario.play(stage)
            except (ClientError, TimeoutError) as error:
                failures.append(f"{broker.peer.name}, {scenario.name}, round {number + 1}: {error}")
                self.say(f"    {failures[-1]}")
                continue
            found["others_cpu_share"] = others.share()
            for what, value in found.items():
                _keep(figures, f"{scenario.name}.{what}", value)
            shown = "  ".join(f"{what} {value:,.4g}" for what, value in found.items() if not what.endswith("count"))
            self.say(f"    {scenario.name} ({time.monotonic() - began:.0f} s): {shown}")


def _keep(figures: dict[str, list[float]], name: str, value: float) -> None:
    figures.setdefault(name, []).append(value)
