"""The table of faults is whole: a fault that somebody adds to one scenario is in all that it can touch, or has a reason."""

from sim.faults import SCENARIOS as OWN
from sim.scenarios import CANNOT, EVERYWHERE, ONLY_THERE, SCENARIOS, WIDE


def test_every_fault_is_everywhere_or_says_why_not() -> None:
    known = {fault for faults in OWN.values() for fault in faults}
    missing = sorted(fault.__name__ for fault in known if fault not in EVERYWHERE and fault not in ONLY_THERE)
    assert not missing, f"add {missing} to EVERYWHERE, or to ONLY_THERE with a reason (tests/sim/scenarios.py)"


def test_wide_scenarios_have_all_but_what_cannot_touch_them() -> None:
    for name in WIDE:
        assert set(EVERYWHERE) - set(SCENARIOS[name]) == set(CANNOT.get(name, {})), name
