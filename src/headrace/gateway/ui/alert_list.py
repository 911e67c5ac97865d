"""Alerts on the overview: what fires, what may soon, and what was cleared a moment ago; each with its fix."""

from collections.abc import Sequence

from headrace.gateway.monitor.alerts import CLEARED, FIRING, Alert
from headrace.gateway.ui import words
from headrace.gateway.ui.grid import Column, Grid, Row, Tone, tag
from headrace.gateway.ui.pieces import Panel

SHOWN_MAX = 20
COLUMNS = (
    Column("state", "State", "tags", width="1%"),
    Column("summary", "What"),
    Column("fix", "What to do"),
    Column("since", "Since", "stamp", width="1%"),
)


class AlertList:
    def __init__(self) -> None:
        with Panel("Alerts") as self._panel:
            self._grid = Grid("Alerts", COLUMNS, "Nothing wants attention.")

    def show(self, alerts: Sequence[Alert]) -> None:
        firing = sum(alert.state == FIRING for alert in alerts)
        self._panel.note.text = f"{firing} firing" if firing else ""
        self._grid.show([_row(index, alert) for index, alert in enumerate(alerts[:SHOWN_MAX])])


def _row(index: int, alert: Alert) -> Row:
    return {
        "key": f"{index} {alert.name} {alert.since}",
        "state": [tag(alert.state, _tone(alert))],
        "summary": _sentence(alert.summary),
        "fix": _sentence(alert.fix),
        "since": words.moment(int(alert.since * 1000))[:-4],
    }


def _tone(alert: Alert) -> Tone:
    if alert.state == CLEARED:
        return "good"
    return "bad" if alert.state == FIRING and alert.severity == "critical" else "warn"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
