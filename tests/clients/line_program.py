"""A small program that reads one JSON request a line from its input and answers each in one line of its output.

It stays up between calls: a JVM's start would otherwise outweigh the test. A program that fails a call, or that is
closed, is gone; the next call starts it anew.
"""

import json
import select
import subprocess
from typing import Any

from clients.client import WAIT_S, Refused


class ProgramFailed(AssertionError):
    """The library could not do it, for a reason that is no broker's error code."""


class LineProgram:
    def __init__(self, name: str, command: list[str]) -> None:
        self.name = name
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """Kills the program; the next call starts it anew."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def ask(self, op: str, **arguments: Any) -> Any:
        try:
            answer = self._exchange({"op": op, **arguments})
        except BaseException:
            # A late answer would be taken for that of the next call.
            self.close()
            raise
        if "code" in answer:
            raise Refused(answer["code"], answer["error"])
        if "error" in answer:
            raise ProgramFailed(f"{self.name} {op}: {answer['error']}")
        return answer["ok"]

    def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._process is None:
            self._process = _started(self._command)
        requests, answers = self._process.stdin, self._process.stdout
        assert requests and answers
        requests.write(json.dumps(request).encode() + b"\n")
        requests.flush()
        ready, _, _ = select.select([answers], [], [], 2 * WAIT_S)
        assert ready, f"the {self.name} program did not answer {request['op']} in {2 * WAIT_S} s"
        line = answers.readline()
        assert line, f"the {self.name} program ended with exit code {self._process.wait()}"
        return json.loads(line)


def _started(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
