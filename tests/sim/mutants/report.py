"""What `make mutants` found, as a table for people, for the documents, and as one line to quote."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sim.mutant import Mutant
from sim.mutants.revision import commit

BEGIN = "<!-- mutants: written by make mutants ARGS=--markdown=docs/guarantees.md -->"
END = "<!-- mutants end -->"


class Result(NamedTuple):
    name: str
    outcome: str
    """caught, survived, stale (its patch does not fit the code any more), struck (the whole code breaks too) or error."""
    caught_by: str = ""
    scenario: str = ""
    storms: int = 0
    """Played until it was caught, that one among them."""
    seconds: float = 0.0
    detail: str = ""

    @property
    def is_caught(self) -> bool:
        return self.outcome == "caught"

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Result":
        return cls(**row)


def text_table(results: Sequence[Result]) -> str:
    rows = [("mutant", "outcome", "caught by", "scenario", "storms", "seconds")]
    rows += [(r.name, r.outcome, r.caught_by, r.scenario, str(r.storms), f"{r.seconds:.0f}") for r in results]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)


def markdown(mutants: Sequence[Mutant], results: Sequence[Result], known: Mapping[str, str] = {}) -> str:
    """The table of the documents. A mutant that was not played now has its row of before; if there is none, it says so."""
    found = {result.name: result for result in results}
    lines = ["| mutant | rule taken away | caught by | storm | storms needed |", "|---|---|---|---|---|"]
    for mutant in mutants:
        if mutant.name not in found and mutant.name in known:
            lines.append(known[mutant.name])
        else:
            lines.append(_row(mutant, found.get(mutant.name, Result(mutant.name, "not played"))))
    return "\n".join(lines)


def _row(mutant: Mutant, result: Result) -> str:
    caught_by = result.caught_by or f"**{result.outcome}**"
    return f"| {mutant.name} | {mutant.rule} | {caught_by} | {result.scenario} | {result.storms} |"


def write_into(path: Path, mutants: Sequence[Mutant], results: Sequence[Result]) -> None:
    """Between the two marks that say where."""
    content = path.read_text()
    before, begin, rest = content.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} has no place for the table: it needs the lines {BEGIN} and {END}")
    table = markdown(mutants, results, rows(content))
    path.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}")


def rows(content: str) -> dict[str, str]:
    """Of the table in a document, by mutant, in its order."""
    table = content.partition(BEGIN)[2].partition(END)[0]
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return {line.split("|")[1].strip(): line for line in lines[2:]}


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.split("|")[1:-1]]


def summary(results: Sequence[Result], seconds: float) -> str:
    caught = sum(result.is_caught for result in results)
    storms = sum(result.storms for result in results)
    others = [result.name for result in results if not result.is_caught]
    rest = f"; not caught: {', '.join(others)}" if others else ""
    return (
        f"{caught} of {len(results)} mutants caught, {storms} storms, {seconds / 60:.1f} min, commit {commit()}{rest}"
    )
