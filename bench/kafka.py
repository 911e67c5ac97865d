"""Apache Kafka from Maven's jars: KRaft, broker and controller in one process, on loopback.

The jars are kept in the user's cache folder (HEADRACE_BENCH_CACHE overrides it) and fetched once.
Kafka runs as its own start script would run it: 1 GB heap, G1 with the same pause goal, default broker settings.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

VERSION = "4.3.1"
HEAP = "1g"
_CONTROLLER_PORT_SHIFT = 1000
_G1 = ["-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"]
_ARTIFACTS = [
    ("org.apache.kafka", "kafka_2.13", VERSION),
    ("org.apache.logging.log4j", "log4j-core", "2.25.1"),
    ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.1"),
]


@dataclass
class Kafka:
    """`settings` are further lines of server.properties, by Kafka's names."""

    settings: dict[str, str] = field(default_factory=dict)
    name: str = "Apache Kafka"

    def version(self) -> str:
        return VERSION

    def prepare(self, data: Path, brokers: int, port: int) -> list[list[str]]:
        libraries = _libraries()
        logging = data / "log4j2.xml"
        logging.write_text(_logging_to_file())
        cluster = _java(libraries, logging, "kafka.tools.StorageTool", "random-uuid").strip().splitlines()[-1]
        commands = []
        for node in range(1, brokers + 1):
            properties = data / f"server-{node}.properties"
            properties.write_text(self._properties(data, node, brokers, port))
            _java(libraries, logging, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties))
            log = f"-Dbench.log={data / f'kafka-{node}.log'}"
            heap = [f"-Xms{HEAP}", f"-Xmx{HEAP}"]
            commands.append([*_command(libraries, logging, *heap, *_G1, log), "kafka.Kafka", str(properties)])
        return commands

    def broker_pids(self, data: Path, launched: list[int]) -> list[int]:
        return launched

    def _properties(self, data: Path, node: int, brokers: int, port: int) -> str:
        copies = str(min(3, brokers))
        own, control = port + node - 1, port + node - 1 + _CONTROLLER_PORT_SHIFT
        voters = ",".join(f"{n}@127.0.0.1:{port + n - 1 + _CONTROLLER_PORT_SHIFT}" for n in range(1, brokers + 1))
        lines = {
            "process.roles": "broker,controller",
            "node.id": str(node),
            "controller.quorum.voters": voters,
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://127.0.0.1:{own},CONTROLLER://127.0.0.1:{control}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{own}",
            "log.dirs": str(data / f"log-{node}"),
            "default.replication.factor": copies,
            "min.insync.replicas": "2" if copies == "3" else "1",
            "offsets.topic.replication.factor": copies,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": copies,
            "share.coordinator.state.topic.min.isr": "1",
            # A deleted topic would otherwise hold its space, and its dirty pages, for a minute into the next row.
            "log.segment.delete.delay.ms": "500",
            **self.settings,
        }
        return "".join(f"{name}={value}\n" for name, value in lines.items())


def missing() -> str | None:
    """What keeps Kafka from running here, in a sentence; None when nothing does."""
    if not shutil.which("java"):
        return "Kafka needs Java 17 or later (Debian: apt-get install openjdk-17-jre-headless)"
    if not _folder().is_dir() and not shutil.which("mvn"):
        return "Kafka's jars are fetched with Maven (Debian: apt-get install maven)"
    return None


def _folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("HEADRACE_BENCH_CACHE") or f"{cache}/headrace-bench") / f"kafka-{VERSION}"


def _libraries() -> Path:
    folder = _folder()
    if not folder.is_dir():
        fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
        fresh.mkdir(parents=True)
        (fresh / "pom.xml").write_text(_project())
        copy = [
            "mvn",
            "-q",
            "-B",
            "-Dstyle.color=never",
            "dependency:copy-dependencies",
            "-DincludeScope=runtime",
            "-DoutputDirectory=jars",
        ]
        subprocess.run(copy, cwd=fresh, check=True)
        fresh.rename(folder)
    return folder / "jars"


def _project() -> str:
    wanted = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"
        for group, name, version in _ARTIFACTS
    )
    own = "<modelVersion>4.0.0</modelVersion><groupId>bench</groupId><artifactId>bench</artifactId><version>1</version>"
    return f"<project>{own}<dependencies>{wanted}</dependencies></project>"


def _logging_to_file() -> str:
    target = (
        '<File name="file" fileName="${sys:bench.log:-/dev/null}"><PatternLayout pattern="%d %p %c{1} %m%n"/></File>'
    )
    root = '<Root level="INFO"><AppenderRef ref="file"/></Root>'
    return f'<Configuration status="ERROR"><Appenders>{target}</Appenders><Loggers>{root}</Loggers></Configuration>'


def _command(libraries: Path, logging: Path, *options: str) -> list[str]:
    return ["java", f"-Dlog4j2.configurationFile={logging}", *options, "-cp", f"{libraries}/*"]


def _java(libraries: Path, logging: Path, *call: str) -> str:
    done = subprocess.run([*_command(libraries, logging), *call], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(call)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout
