"""A standalone Spark cluster on this machine from the pip package alone: one master and some workers, as child processes.

    with StandaloneCluster(workers=2) as cluster:
        spark = session(cluster.master)

The package leaves out the start scripts but has the classes, and `spark-class` starts them. All listen on loopback. Each
runs under a small shell that reads from a pipe only we hold open and ends its child with it: none survives us, however
we end.
"""

import atexit
import json
import os
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from headrace.base.errors import UserError
from headrace.cli.run.ports import free_port
from headrace.spark.sessions.spark_session import LOOPBACK, check_spark, prepare_environment

SPARK_START_SECONDS_MAX = 180.0
SPARK_STOP_SECONDS_MAX = 30.0
_POLL_SECONDS = 0.25
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_UNTIL_PARENT_ENDS = '"$@" </dev/null & read -r _; kill $! 2>/dev/null; wait $!'


class StandaloneCluster:
    def __init__(self, workers: int = 2, *, cores_each: int = 1, memory_each: str = "2g") -> None:
        self.workers = workers
        self._cores_each, self._memory_each = cores_each, memory_each
        self._directory = tempfile.TemporaryDirectory(prefix="headrace-spark-", ignore_cleanup_errors=True)
        self._port, self._web_port = free_port(LOOPBACK), free_port(LOOPBACK)
        self._children: list[subprocess.Popen[bytes]] = []

    @property
    def master(self) -> str:
        return f"spark://{LOOPBACK}:{self._port}"

    @property
    def status_url(self) -> str:
        """The master's own account of itself, as JSON."""
        return f"http://{LOOPBACK}:{self._web_port}/json/"

    def start(self) -> Self:
        """Returns when every worker has registered; raises UserError with the last lines of a log when one does not."""
        check_spark()
        prepare_environment()
        ports = ["--host", LOOPBACK, "--port", str(self._port), "--webui-port", str(self._web_port)]
        self._launch("master", _MASTER, *ports)
        self._until_alive_workers(0)
        for number in range(1, self.workers + 1):
            self._launch(f"worker-{number}", _WORKER, *self._worker_options(number), self.master)
        self._until_alive_workers(self.workers)
        return self

    def _worker_options(self, number: int) -> list[str]:
        work = str(self._path / f"work-{number}")
        size = ["--cores", str(self._cores_each), "--memory", self._memory_each]
        return ["--host", LOOPBACK, "--port", "0", "--webui-port", "0", "--work-dir", work, *size]

    def stop(self) -> None:
        children, self._children = self._children, []
        for child in reversed(children):
            assert child.stdin is not None
            child.stdin.close()
        for child in children:
            try:
                child.wait(SPARK_STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self._directory.cleanup()

    @property
    def _path(self) -> Path:
        return Path(self._directory.name)

    def _launch(self, role: str, main_class: str, *options: str) -> None:
        import pyspark

        spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
        environ = {**os.environ, "SPARK_LOCAL_IP": LOOPBACK, "SPARK_DAEMON_MEMORY": "512m"}
        with open(self._path / f"{role}.log", "wb") as log:
            child = subprocess.Popen(
                ["/bin/sh", "-c", _UNTIL_PARENT_ENDS, "sh", str(spark_class), main_class, *options],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environ,
                # Ctrl-C in a terminal is for us; they are told by the pipe.
                process_group=0,
            )
        self._children.append(child)

    def _until_alive_workers(self, wanted: int) -> None:
        deadline = time.monotonic() + SPARK_START_SECONDS_MAX
        while (alive := self._alive_workers()) is None or alive < wanted:
            if time.monotonic() > deadline:
                raise UserError(f"the Spark cluster did not start: {self._last_words()}", "see the lines above")
            time.sleep(_POLL_SECONDS)

    def _alive_workers(self) -> int | None:
        """None while the master does not answer."""
        try:
            with urllib.request.urlopen(self.status_url, timeout=5) as reply:
                status: dict[str, Any] = json.load(reply)
        except (OSError, ValueError):
            return None
        return int(status["aliveworkers"])

    def _last_words(self) -> str:
        logs = sorted(self._path.glob("*.log"))
        return "; ".join(f"{log.stem}: {_last_line(log)}" for log in logs)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "said nothing"


_of_this_process: StandaloneCluster | None = None


def cluster_of_this_process(workers: int) -> StandaloneCluster:
    """Started on first use, stopped at the end of the process; its size is that of the first use."""
    global _of_this_process
    if _of_this_process is None:
        cluster = StandaloneCluster(workers)
        atexit.register(cluster.stop)
        _of_this_process = cluster.start()
    return _of_this_process
