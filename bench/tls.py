"""Bulk over TLS, Headrace beside Apache Kafka in the same run: MB a second in and out, and what a GB costs of the CPU.

    python -m bench.tls [--rounds 3] [--megabytes 2000] [--ours-only]

Each round starts one, then the other, on a fresh directory, and who goes first changes. Certificates are P-256, of one
authority; clients are the native ones of the bench, four partitions, 1 KB records, acks=1, fsync off.
Prints medians and ratios (target: at least 1.2 times Kafka) and writes them to bench/out/tls.json.
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import median

from bench import kafka, native, proc
from bench.broker import Peer, running
from bench.scenarios import Figures, _bulk, warm_up
from bench.tls_peers import TlsStage, headrace_with_tls, kafka_with_tls, made
from bench.workload import BULK_1K

OUT = Path(__file__).parent / "out"
TARGET = 1.2
SECONDS = 30.0
SHOWN = ("produce_mb_per_s", "consume_mb_per_s", "cpu_s_per_gb_in", "cpu_s_per_gb_out")
JUDGED = ("produce_mb_per_s", "consume_mb_per_s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=float, default=2_000)
    parser.add_argument("--ours-only", action="store_true", help="Headrace alone")
    parser.add_argument("--port", type=int, default=19592)
    options = parser.parse_args()
    certificates = made(OUT / "certificates")
    peers: list[Peer] = [headrace_with_tls(certificates, options.port)]
    if why := kafka.missing():
        print(f"without Kafka, so without ratios: {why}", file=sys.stderr)
    elif not options.ours_only:
        peers.append(kafka_with_tls(certificates, options.port))
    clients, others = native.built(OUT / "native"), proc.OtherWork()
    rounds: dict[str, list[Figures]] = {peer.name: [] for peer in peers}
    for number in range(options.rounds):
        for peer in peers if number % 2 == 0 else reversed(peers):
            with running(peer, OUT / "data" / "tls", port=options.port) as broker:
                stage = TlsStage(broker, clients, options.megabytes / 2_000, number, certificates.client())
                warm_up(stage)
                rounds[peer.name].append(_bulk(BULK_1K, 2e6, SECONDS, consume=True)(stage))
            print(f"round {number + 1}, {peer.name}: {_line(rounds[peer.name][-1])}", file=sys.stderr, flush=True)
    show({name: {what: median(each[what] for each in found) for what in SHOWN} for name, found in rounds.items()})
    share = others.share()
    (OUT / "tls.json").write_text(json.dumps({"rounds": rounds, "others_cpu_share": share}, indent=1))
    print(f"other processes took {share:.0%} of the CPU")


def show(medians: dict[str, Figures]) -> None:
    for name, figures in medians.items():
        print(f"{name}: {_line(figures)}")
    if len(medians) == 2:
        ours, theirs = medians.values()
        for what in JUDGED:
            ratio = ours[what] / theirs[what]
            reached = "reached" if ratio >= TARGET else "not reached"
            print(f"{what}: {ratio:.2f} times Kafka (target: at least {TARGET:g}): {reached}")


def _line(figures: Figures) -> str:
    return "  ".join(f"{what} {figures[what]:.4g}" for what in SHOWN)


if __name__ == "__main__":
    main()
