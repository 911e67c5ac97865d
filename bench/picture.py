"""The ratios as one picture: bars to the right of 1 are in our favour, whatever the unit."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no display is needed, and none may be there

from matplotlib import pyplot
from matplotlib.patches import Patch

from bench.report import Report
from bench.rows import OURS, THEIRS, Outcome

_REACHED, _MISSED, _NO_TARGET = "#2a9d8f", "#e76f51", "#8d99ae"
_LEGEND = {_REACHED: "target reached", _MISSED: "target not reached", _NO_TARGET: "no target"}


def draw(report: Report, folder: Path) -> Path:
    shown = [outcome for outcome in report.outcomes if outcome.ratio][::-1]
    figure, axes = pyplot.subplots(figsize=(10, 1.5 + 0.28 * len(shown)))
    axes.barh([_label(outcome) for outcome in shown], [_favour(outcome) - 1 for outcome in shown], left=1,
              color=[_colour(outcome) for outcome in shown])  # fmt: skip
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("times better (right) or worse (left)")
    busy = "\nmeasured on a busy machine: not fit to be published" if report.machine_was_busy() else ""
    axes.set_title(f"{report.names.get(OURS, '')} beside {report.names.get(THEIRS, '')}{busy}")
    axes.legend(handles=[Patch(color=colour, label=meaning) for colour, meaning in _LEGEND.items()], fontsize=8)
    axes.tick_params(axis="y", labelsize=8)
    figure.tight_layout()
    path = folder / "bench.png"
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return path


def _favour(outcome: Outcome) -> float:
    ratio = outcome.ratio
    assert ratio is not None, outcome.row.name
    return ratio if outcome.row.higher_is_better else 1 / ratio


def _colour(outcome: Outcome) -> str:
    return {True: _REACHED, False: _MISSED, None: _NO_TARGET}[outcome.reached]


def _label(outcome: Outcome) -> str:
    fsync = f", fsync {outcome.row.fsync}" if outcome.row.fsync in ("on", "off") else ""
    pace = outcome.row.settings.partition(" records/s")[0] + "/s " if " records/s, " in outcome.row.settings else ""
    return f"{pace}{outcome.row.title}{fsync}"
