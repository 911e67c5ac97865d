"""docs/compatibility.md names the versions that are tested."""

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = (CHECKOUT / "docs" / "compatibility.md").read_text()
TESTED_BY = {
    "Kafka Streams": "tests/ecosystem/streams/pom.xml",
    "Kafka Connect": "tests/ecosystem/connect/pom.xml",
    "MirrorMaker 2": "tests/ecosystem/connect/pom.xml",
    "FastStream": "tests/ecosystem/faststream/requirements.txt",
    "quixstreams": "tests/ecosystem/quixstreams/requirements.txt",
    "faust-streaming": "tests/ecosystem/faust/requirements.txt",
    "Sarama": "tests/ecosystem/sarama/go.mod",
    "kafka-go": "tests/ecosystem/kafka_go/go.mod",
    "rskafka": "tests/ecosystem/rskafka/Cargo.toml",
    "Java client": "tests/clients/java/pom.xml",
    "librdkafka: confluent-kafka": "constraints.txt",
    "franz-go": "tests/clients/go/go.mod",
    "kafka-python": "constraints.txt",
    "aiokafka": "constraints.txt",
}
ROWS = re.findall(r"^\| ([^|]+) \| (\d[\w.]*) \|", PAGE, re.MULTILINE)
# No file of ours decides on the version of kcat.
FROM_THE_SYSTEM = "librdkafka: kcat"


def test_every_row_has_its_file() -> None:
    for project, _ in ROWS:
        assert project == FROM_THE_SYSTEM or any(map(project.startswith, TESTED_BY)), project


@pytest.mark.parametrize("project", TESTED_BY)
def test_versions(project: str) -> None:
    pinned = (CHECKOUT / TESTED_BY[project]).read_text()
    versions = {version for name, version in ROWS if name.startswith(project)}
    assert versions
    for version in versions:
        assert re.search(rf"[>v= ]{re.escape(version)}\b", pinned), f"{project} {version}: {TESTED_BY[project]}"
