"""A plan of moves as people see it before they agree."""

from typing import Any

from headrace.base.units import size_text
from headrace.cli.output import count_of, remark, show_rows

MOVE_ROWS_MAX = 30


def show_plan(view: dict[str, Any], moving: int) -> None:
    rows = [
        {**each, "partition": f"{each['topic']}-{each['partition']}", "size": size_text(each["bytes"])}
        for each in view["moves"]
    ]
    columns = {"partition": "PARTITION", "from": "REPLICAS NOW", "to": "THEN", "size": "TO COPY"}
    if rows:
        show_rows(rows[:MOVE_ROWS_MAX], columns)
    else:
        print("nothing to move: every partition is where it should be")
    if len(rows) > MOVE_ROWS_MAX:
        print(f"and {count_of(len(rows) - MOVE_ROWS_MAX, 'partition')} more; --dry-run --json lists all")
    if moving:
        print(f"\n{count_of(moving, 'partition')} already moving")
    if view["offline"]:
        offline = count_of(len(view["offline"]), "partition")
        remark(f"\nwarning: {offline} without a leader cannot be moved; start the brokers that hold them")
