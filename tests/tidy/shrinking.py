"""Lists of today's breaches of a rule: a new breach fails, and so does an entry whose breach is mended."""

from collections.abc import Collection, Mapping


def hold(found: Collection[str], allowed: Collection[str], fix: str) -> None:
    new, mended = sorted(set(found) - set(allowed)), sorted(set(allowed) - set(found))
    assert not new, f"{fix}: {', '.join(new)}"
    assert not mended, f"mended, so take it off the list: {', '.join(mended)}"


def hold_counts(found: Mapping[str, int], allowed: Mapping[str, int], fix: str) -> None:
    more = {name: count for name, count in found.items() if count > allowed.get(name, 0)}
    fewer = {name: found.get(name, 0) for name, count in allowed.items() if found.get(name, 0) < count}
    assert not more, f"{fix}: {more}"
    assert not fewer, f"mended, so write the new count into the list, or take it off: {fewer}"
