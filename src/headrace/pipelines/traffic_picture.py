"""A topic's traffic in four small charts: rate, volume, skew of partitions, hot keys."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.base.errors import UserError

if TYPE_CHECKING:
    from headrace.pipelines.traffic import TrafficReport

_COLOUR, _ACCENT = "#2f6f9f", "#c9722e"


def draw(report: "TrafficReport", path: Path) -> None:
    """Draws the charts as PNG or SVG, by the name's end."""
    try:
        import matplotlib
    except ImportError:
        raise UserError("matplotlib is not installed", "pip install 'headrace[spark]'") from None
    matplotlib.use("Agg")  # no display is needed, and none may be there
    from matplotlib import pyplot

    figure, charts = pyplot.subplots(2, 2, figsize=(11, 7), constrained_layout=True)
    figure.suptitle(f"{report.topic}: {report.rows:,} rows, skew {report.skew}")
    starts = [window["start"] for window in report.windows]
    _line(charts[0, 0], starts, [window["rows_per_second"] for window in report.windows], "rows/s")
    per_second = [window["bytes"] / report.window_seconds / 1e6 for window in report.windows]
    _line(charts[0, 1], starts, per_second, "MB/s")
    _bars(charts[1, 0], [str(each["partition"]) for each in report.partitions], report.partitions, "rows by partition")
    _bars(charts[1, 1], [each["key"][:20] for each in report.hot_keys], report.hot_keys, "rows by key, the hottest")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        figure.savefig(path, dpi=120)
    except ValueError as error:
        raise UserError(f"{path}: {error}", "name a file that ends in .png or .svg") from None
    finally:
        pyplot.close(figure)


def _line(chart: Any, starts: list[Any], values: list[float], title: str) -> None:
    chart.plot(starts, values, color=_COLOUR, marker="." if len(values) < 80 else "")
    chart.set_title(title, loc="left", fontsize=10)
    chart.set_ylim(bottom=0)
    chart.tick_params(axis="x", labelrotation=30)
    chart.grid(alpha=0.3)


def _bars(chart: Any, labels: list[str], rows: list[dict[str, Any]], title: str) -> None:
    # Keys may hold dollar signs, which would be read as mathematics.
    chart.bar(range(len(rows)), [each["rows"] for each in rows], color=_ACCENT)
    chart.set_xticks(range(len(rows)), [label.replace("$", r"\$") for label in labels], rotation=30)
    chart.set_title(title, loc="left", fontsize=10)
    chart.grid(alpha=0.3, axis="y")
