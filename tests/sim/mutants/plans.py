"""Storms that mutants share, and groups of invariants that may catch them."""

from sim.storm import Plan

SAFETY = (
    "synced-ack",
    "in-sync",
    "no-ack-lost",
    "agreed",
    "identical",
    "watermark",
    "dense",
    "no-duplicate",
    "no-gap",
    "one-leader",
    "lease",
)
"""Something was promised that is not so."""
HANGS = ("caught-up", "goes-on")
"""Something does not come to pass."""
UNSEEN = ("torn", "aborted-read", "stable", "offsets", "no-duplicate")
"""A transaction is not what its producer was told."""

MIN_TWO = (("min.insync.replicas", "2"),)
ONE = Plan(brokers=1, scenario="crashes", seconds=8.0)
BUSY = Plan(brokers=1, scenario="power-loss", seconds=8.0, pace=0.02, gap=0.5)
THREE = Plan(brokers=3, scenario="crashes", seconds=10.0, gap=1.0)
DARK = THREE._replace(scenario="power-loss", gap=0.7, pace=0.03, topic_config=MIN_TWO)
MIXED = THREE._replace(scenario="mixed", gap=0.7, pace=0.03, topic_config=MIN_TWO)
STORE = THREE._replace(scenario="store-loss", gap=0.7, pace=0.03, topic_config=MIN_TWO)
ROT = THREE._replace(scenario="rot", gap=1.0, pace=0.05, topic_config=MIN_TWO)
CHURN = Plan(1, "churn", 3, 10.0, 1, 6, 1, 0.02, 0.4, MIN_TWO)
"""In-sync sets that change all the time, on a slow store."""
CUTS = Plan(1, "cuts", 3, 10.0, 1, 4, 1, 0.01, 0.4, MIN_TWO)
"""Leaders that change while disks are slow: every change leaves a tail to cut."""
LONE = Plan(1, "lone-leaders", 3, 14.0, 1, 4, 1, 0.02, 0.8, MIN_TWO)
"""In-sync sets of one, and what may lead after it."""
HARDENING = Plan(1, "hardening", 3, 12.0, 1, 4, 1, 0.02, 0.4, MIN_TWO)
"""A topic that is made relaxed and durable all the time."""
DISKS = Plan(brokers=1, scenario="disks", seconds=10.0, pace=0.03, gap=0.6)
# Narrow, as all faults of these scenarios at once would hide what a rule alone is good for.
GROUPS = Plan(brokers=3, scenario="groups", partitions=3, producers=1, consumers=0, pace=1.0, gap=0.8, is_narrow=True)
TRANSACTIONS = Plan(
    brokers=3,
    scenario="transactions",
    seconds=8.0,
    producers=1,
    consumers=1,
    pace=0.05,
    gap=0.8,
    calm=20.0,
    is_narrow=True,
)
HASTY = TRANSACTIONS._replace(producers=0, consumers=0, pace=0.002)
"""The next transaction begins while the markers of the last one are on their way."""
