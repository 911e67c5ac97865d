"""Figures that README.md and docs/design.md name stand in the tables that they are taken from; each answer has one."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DESIGN, BENCH = (ROOT / "docs" / "design.md").read_text(), (ROOT / "docs" / "bench.md").read_text()
# Where design.md says that a figure comes from elsewhere, it links the page.
LINKED = "".join((ROOT / "docs" / name).read_text() for name in ("guarantees.md", "operations.md", "push.md"))
NUMBER = r"(?<![\w.,])(\d[\d,]*(?:\.\d+)?)"


def numbers(text: str, unit: str) -> list[float]:
    return [float(each.replace(",", "")) for each in re.findall(rf"{NUMBER} ?{unit}", text)]


def stands_in(figure: float, text: str, unit: str = "") -> bool:
    """As it is written here, or rounded from it: 88 MB/s for 88.2."""
    return any(figure in (each, round(each)) for each in numbers(text, unit))


def lost_figures(text: str) -> list[str]:
    lost = [f"{each} MB/s" for each in numbers(text, r"MB/s\b") if not stands_in(each, BENCH, "MB/s")]
    for unit in ("ms", "s", "requests", "commits", "/s"):
        lost += [f"{each} {unit}" for each in numbers(text, rf"{unit}\b") if not stands_in(each, BENCH + LINKED)]
    return lost + [f"{each}×" for each in numbers(text, "×") if not is_known_ratio(each, text)]


def is_known_ratio(ratio: float, text: str) -> bool:
    """One of the bench, or of two rates in the same table here."""
    rates = numbers(text, r"MB\b")
    return stands_in(ratio, BENCH, "×") or any(ratio == round(one / other, 2) for one in rates for other in rates)


def test_figures_of_the_design_stand_in_the_bench() -> None:
    assert len(numbers(DESIGN, r"MB/s\b")) > 5 and len(numbers(DESIGN, r"ms\b")) > 10 and numbers(DESIGN, "×")
    assert lost_figures(DESIGN) == []


def test_every_answer_of_the_design_has_a_figure_or_a_test() -> None:
    _, *answers = DESIGN.split("\n## ")
    assert len(answers) > 12
    assert [answer.partition("\n")[0] for answer in answers if not is_shown(answer)] == []


def is_shown(answer: str) -> bool:
    units = ("MB/s", "MB", "ms", "s", "requests", "/s")
    return "`tests/" in answer or any(numbers(answer, rf"{unit}\b") for unit in units)


def test_an_answer_without_a_figure_is_found() -> None:
    assert not is_shown("Pull, or push?\nPull, in the protocol, for 3 reasons.") and is_shown("It takes 2.5 ms.")


def test_a_figure_that_is_in_no_table_is_found() -> None:
    assert lost_figures("1,520 MB/s, 1,519 MB/s, 2.36×, 2.38×, 7.77 ms") == ["1520.0 MB/s", "7.77 ms", "2.36×"]


def test_figures_of_the_readme_stand_in_the_bench() -> None:
    section = (ROOT / "README.md").read_text().split("\n## How fast\n")[1].split("\n## ")[0]
    assert numbers(section, r"MB/s\b") and numbers(section, r"ms\b") and numbers(section, "×")
    assert lost_figures(section) == []
