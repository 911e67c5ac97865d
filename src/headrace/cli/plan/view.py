"""The view of `headrace plan`: a table of results with their working, then how it grows."""

from typing import Any

from headrace.base.units import bytes_text
from headrace.cli.output import show_rows
from headrace.gateway.planner import Plan


def plan_view(plan: Plan) -> dict[str, Any]:
    """The JSON form of a plan."""
    return {
        "load": plan.load._asdict(),
        "measured": plan.measured._asdict(),
        "lines": [line._asdict() for line in plan.lines],
        "growth": [grown._asdict() for grown in plan.growth],
    }


def show_plan(plan: Plan) -> None:
    show_rows(
        [line._asdict() for line in plan.lines],
        {"about": "ABOUT", "name": "WHAT", "result": "RESULT", "working": "WORKING"},
    )
    print("\nAs the load grows")
    rows = [
        {
            "times": f"{grown.times}×",
            "brokers": f"{grown.brokers:,}",
            "disks": f"{grown.disks:,}",
            "stored": bytes_text(grown.stored_bytes),
            "cost": "-" if grown.monthly_cost is None else f"{grown.monthly_cost:,.0f}",
        }
        for grown in plan.growth
    ]
    columns = {"times": "LOAD", "brokers": "BROKERS", "disks": "DISKS", "stored": "ON ALL DISKS"}
    priced = plan.growth[0].monthly_cost is not None
    show_rows(rows, columns | ({"cost": "A MONTH"} if priced else {}))
    print(f"\nWhat a core, a disk and a broker can do: {plan.measured.source}; --bench FILE takes your own.")
