"""A live line chart: series over shared moments. Drawn by chart.js in SVG, coloured by the stylesheet."""

from collections.abc import Mapping, Sequence

from nicegui.element import Element

Values = Sequence[float | None]


class Chart(Element, component="chart.js"):
    def __init__(self, label: str, unit: str = "", waiting: str = "The first points come in a few seconds") -> None:
        """`unit` follows each number: "B/s", "/s"; `waiting` stands where there is nothing to draw yet."""
        super().__init__()
        self.props.update(label=label, unit=unit, waiting=waiting, times=[], series=[])

    def show(self, times: Sequence[float], series: Mapping[str, Values]) -> None:
        """Seconds since the epoch, and the values at each; None where there was none."""
        self.props["times"] = list(times)
        self.props["series"] = [{"name": name, "values": list(values)} for name, values in series.items()]
        self.update()
