"""What rules (ACLs) cost a broker: CPU seconds for each GB in and out, and CPU for each request of one record.

    python -m bench.acl_cost [--pairs 7] [--gigabytes 1.5] [--rules 200]

Two brokers run side by side: one without an authorizer, and one with it, where a user who is no super user is let by one
rule for all topics among many others. The load goes to one, then to the other, in short turns; the figure is the median over
pairs of the ratio of CPU seconds. Prints the figures (targets: less than 3 % in bulk, 10 % a request) and writes them to
bench/out/acl_cost.json.
"""

import argparse
import json
from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from bench import native, proc
from bench.broker import Running, running
from bench.pairs import Compared, Served, bulk, compare, single
from bench.scenarios import Stage

OUT = Path(__file__).parent / "out"
TARGETS = {"bulk": 0.03, "single": 0.10}
SIDES = ("with rules", "without")
SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    # For what no rule speaks of: the cluster itself, where topics are made. Topics have rules.
    "allow.everyone.if.no.acl.found": "true",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--gigabytes", type=float, default=1.5)
    parser.add_argument("--turns", type=int, default=4, help="of each broker in a pair")
    parser.add_argument("--rules", type=int, default=200, help="of other users and topics")
    parser.add_argument("--port", type=int, default=19392)
    options = parser.parse_args()
    clients, others = native.built(OUT / "native"), proc.OtherWork()
    with (
        running(
            Served(SIDES[0], ("headrace.cli", "serve"), settings=SETTINGS), OUT / "data" / "rules", port=options.port
        ) as ruled,
        running(Served(SIDES[1], ("headrace.cli", "serve")), OUT / "data" / "free", port=options.port + 10) as free,
    ):
        make_rules(ruled, options.rules)
        stages = Stage(ruled, clients, 1.0), Stage(free, clients, 1.0)
        for stage in stages:
            bulk(stage, min(0.3, options.gigabytes))
        sizes = (options.pairs, options.turns, options.gigabytes)
        result = {"bulk": compare(bulk, *stages, *sizes), "single": compare(single, *stages, *sizes)}
        share = others.share()
    show(result, share)


def make_rules(broker: Running, count: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    allow, deny = AclPermissionType.ALLOW, AclPermissionType.DENY
    literal, prefixed = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
    rules = [_rule("*", literal, "User:ANONYMOUS", AclOperation.ALL, allow)]
    for number in range(count):
        user = f"User:somebody-{number}"
        rules.append(_rule(f"topic-{number}", (literal, prefixed)[number % 2], user, AclOperation.READ, allow))
    rules.append(_rule("secret-", prefixed, "User:*", AclOperation.READ, deny))
    for made in admin.create_acls(rules, request_timeout=60).values():
        made.result()


def _rule(
    name: str, pattern: ResourcePatternType, user: str, operation: AclOperation, kind: AclPermissionType
) -> AclBinding:
    return AclBinding(ResourceType.TOPIC, name, pattern, user, "*", operation, kind)


def show(result: dict[str, Compared], others_cpu_share: float) -> None:
    stored = {name: row._asdict() for name, row in result.items()}
    (OUT / "acl_cost.json").write_text(json.dumps({**stored, "others_cpu_share": others_cpu_share}, indent=1))
    units = {"bulk": "CPU s a GB in and out", "single": "CPU µs a request"}
    for name, row in result.items():
        print(row.line(name, units[name], SIDES))
        reached = "reached" if row.cost < TARGETS[name] else "not reached"
        print(f"target: below {TARGETS[name]:.0%}: {reached}")
    print(f"other processes took {others_cpu_share:.0%} of the CPU")


if __name__ == "__main__":
    main()
