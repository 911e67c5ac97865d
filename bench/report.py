"""The result as a Markdown table for people and JSON for machines."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.rows import MACHINE, OURS, THEIRS, Measured, Outcome, Row, middle

OTHERS_SHARE_MAX = 0.1
_BUSY = "\n**The machine was busy with other work: these ratios are not fit to be published.**\n"
_BUSY_ROW = "\n‡ other processes took more than 10 % of the CPU in this row's rounds: not fit to be published.\n"
_BEHIND = "\n† did not keep the pace: its queue, and with it this figure, grows with the length of the run.\n"


@dataclass
class Report:
    outcomes: list[Outcome]
    names: dict[str, str]
    machine: dict[str, str]
    measured: Measured
    failures: list[str]
    rounds: int
    scale: float
    seconds: float

    def markdown(self) -> str:
        ours, theirs = self.names.get(OURS, "Headrace"), self.names.get(THEIRS, "Apache Kafka")
        heads = [
            "row",
            "settings, the same for both",
            "fsync before ack",
            ours,
            theirs,
            "ratio (range of the rounds)",
            "target",
        ]
        lines = [
            f"| {' | '.join(heads)} | |",
            "|---|---|---|---:|---:|---:|---|---|",
            *(_line(outcome, self._was_busy(outcome.row)) for outcome in self.outcomes),
            "",
            self._footer(),
            *([_BEHIND] if any(not o.ours_kept_pace or not o.theirs_kept_pace for o in self.outcomes) else []),
            *([_BUSY_ROW] if any(self._was_busy(o.row) for o in self.outcomes) else []),
            *([_BUSY] if self.machine_was_busy() else []),
            *(f"- not measured: {failure}" for failure in self.failures),
        ]
        return "\n".join(lines) + "\n"

    def save(self, folder: Path) -> list[Path]:
        folder.mkdir(parents=True, exist_ok=True)
        stamp = time.strftime("%Y%m%d-%H%M%S")
        text = json.dumps(self._content(), indent=1, ensure_ascii=False)
        paths = [folder / f"bench-{stamp}.json", folder / "latest.json", folder / "table.md"]
        for path, content in zip(paths, (text, text, self.markdown()), strict=True):
            path.write_text(content)
        return paths

    def _footer(self) -> str:
        synced = middle(self.measured, MACHINE, "disk.synced_mb_per_s")
        rounds = "one round" if self.rounds == 1 else f"medians of {self.rounds} interleaved rounds"
        load = "" if self.scale == 1 else f" with {self.scale:.0%} of the load"
        m = self.machine
        return (
            f"{rounds.capitalize()}{load} in {self.seconds / 60:.0f} min; the machine's own synced write rate: "
            f"{synced or 0:.0f} MB/s; {m['cores']} cores ({m['cpu']}) shared by client and broker, {m['memory']}, "
            f"Linux {m['kernel']}, {m['filesystem']}; librdkafka {m['librdkafka']}, Python {m['python']}, "
            f"Java {m['java']}; commit {m['commit']}; other processes took {self._others_share():.0%} of the CPU."
        )

    def machine_was_busy(self) -> bool:
        return self._others_share() > OTHERS_SHARE_MAX

    def _was_busy(self, row: Row) -> bool:
        """Of this row alone: in the middle over all of them a few busy ones do not show."""
        shares = [
            middle(self.measured, side, f"{scenario}.others_cpu_share") or 0.0
            for side in (OURS, THEIRS)
            for scenario in row.scenarios()
        ]
        return max(shares) > OTHERS_SHARE_MAX

    def _others_share(self) -> float:
        """The middle of what other processes took while a scenario ran."""
        shares = [
            share
            for figures in self.measured.values()
            for name, values in figures.items()
            if name.endswith(".others_cpu_share")
            for share in values
        ]
        return median(shares) if shares else 0.0

    def _content(self) -> dict[str, object]:
        rows = [
            {
                "name": outcome.row.name,
                "title": outcome.row.title,
                "settings": outcome.row.settings,
                "fsync": outcome.row.fsync,
                "unit": outcome.row.unit,
                "ours": outcome.ours,
                "theirs": outcome.theirs,
                "ratio": outcome.ratio,
                "ratio_range": outcome.ratio_range,
                "target": outcome.row.target.text if outcome.row.target else None,
                "reached": outcome.reached,
            }
            for outcome in self.outcomes
        ]
        return {
            "names": self.names,
            "machine": self.machine,
            "rounds": self.rounds,
            "seconds": round(self.seconds),
            "failures": self.failures,
            "rows": rows,
            "measured": self.measured,
        }


def _line(outcome: Outcome, was_busy: bool) -> str:
    row = outcome.row
    verdict = {True: "reached", False: "**not reached**", None: ""}[outcome.reached]
    ratio = f"{outcome.ratio:.2f}×" if outcome.ratio is not None else "–"
    if outcome.ratio_range:
        ratio += f" ({outcome.ratio_range[0]:.2f}–{outcome.ratio_range[1]:.2f})"
    ours = _figure(outcome.ours, row.unit) + ("" if outcome.ours_kept_pace else " †")
    theirs = _figure(outcome.theirs, row.unit) + ("" if outcome.theirs_kept_pace else " †")
    if was_busy:
        ratio += " ‡"
    cells = [row.title, row.settings, row.fsync, ours, theirs]
    return "| " + " | ".join([*cells, ratio, row.target.text if row.target else "", verdict]) + " |"


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}"
