"""deploy/ as those who use it read it: `deploy_lint` is made of the libraries of BuildKit, Compose, Helm and Kubernetes."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refusal import Refused

from clients.build import MissingTool, go_program

HERE = Path(__file__).parent
DEPLOY = HERE.parents[1] / "deploy"


@pytest.fixture(scope="session")
def lint() -> Callable[..., Any]:
    try:
        program = go_program(HERE / "deploy_lint")
    except MissingTool as missing:
        pytest.skip(str(missing))

    def ask(*words: object) -> Any:
        ran = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
        if ran.returncode:
            raise Refused(ran.stderr.strip().splitlines()[-1])
        return json.loads(ran.stdout)

    return ask
