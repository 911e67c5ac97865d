"""docs/formats.md says of each format the version that the code writes."""

import re
from pathlib import Path

import pytest

from headrace.backup import folder, manifest
from headrace.broker.disk import directory, known_replicas
from headrace.broker.membership import seen_revision
from headrace.cluster import records
from headrace.gateway.idempotency import entry
from headrace.gateway.webhooks import subscription
from headrace.groups.classic import stored as classic_stored
from headrace.groups.consumer import stored as consumer_stored
from headrace.groups.offsets import stored as offsets_stored
from headrace.log import checkpoint, damage, index, state
from headrace.pipelines.tables import table
from headrace.spark.source import offsets
from headrace.stores import etcd_leases, etcd_map, sqlite_leases, sqlite_map
from headrace.txns import stored as txns_stored

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "formats.md").read_text()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| ")]
VERSIONS = {
    "whose it is: cluster": directory.FORMAT_VERSION,
    "`logs/TOPIC-N/….index`": index.VERSION,
    "`logs/TOPIC-N/….snapshot`": state.VERSION,
    "`logs/TOPIC-N/damaged`": damage.VERSION,
    "`recovery-points`": checkpoint.VERSION,
    "`relaxed`": checkpoint.VERSION,
    "`replicas`": known_replicas.VERSION,
    "`metadata-revision`": seen_revision.VERSION,
    "`metadata.sqlite`": sqlite_map._LAYOUT.format_version,
    "`metadata.sqlite.leases-BOOT`": sqlite_leases._LAYOUT.format_version,
    "`PREFIX/map`": etcd_map.FORMAT.decode(),
    "`PREFIX/leases/…`": etcd_leases.FORMAT,
    "JSON that begins with `v`": records.FORMAT_VERSION,
    "offset commits and classic groups": max(offsets_stored.VALUE_VERSION, classic_stored.VALUE_VERSION),
    "consumer groups (Kafka's": consumer_stored.VALUE_VERSION,
    "`__transaction_state`": txns_stored.VALUE_VERSION,
    "`_headrace_webhooks`": f"{subscription.FORMAT}, {subscription.SEALED_FORMAT}, {subscription.MANDATE_FORMAT}",
    "`_headrace_idempotency`": entry.VERSION,
    "Spark's checkpoint": offsets.VERSION,
    "`headrace.source`": table.VERSION,
    "`headrace-backups`": folder.VERSION,
    "`backups/ID.json`": manifest.VERSION,
}


@pytest.mark.parametrize("what", VERSIONS)
def test_the_page_has_the_version_that_is_written(what: str) -> None:
    rows = [row for row in ROWS if any(what in cell for cell in row[:2])]
    assert len(rows) == 1, rows
    assert rows[0][2] == str(VERSIONS[what])


def test_every_kind_of_key_in_the_store_is_named() -> None:
    named = set(
        re.findall(r"`([a-z_]+)(?:/…)?`", next(line for line in PAGE.splitlines() if "begins with `v`" in line))
    )
    assert {kind.partition("/")[0] for kind in records._READERS} <= named
