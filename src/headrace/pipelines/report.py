"""The end of a job, for people: its report as a few named lines. `--json` prints the same fields as one object."""

from typing import Any

from headrace.base.units import size_text


def lines_of(report: Any) -> dict[str, Any]:
    """Numbers with their thousands apart, zeros and nothings left out; the first fields, which say what it was, stay."""
    fields = report._asdict()
    return {
        name.replace("_", " "): _text(name, value)
        for name, value in fields.items()
        if value not in (0, 0.0, None, {}, [])
    }


def _text(name: str, value: Any) -> str:
    if name == "bytes" and isinstance(value, int):
        return size_text(value)
    if name == "seconds":
        return f"{value:.1f}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, dict):
        return ", ".join(
            f"{key}: {each:,}" if isinstance(each, int) else f"{key}: {each}" for key, each in value.items()
        )
    return str(value)
