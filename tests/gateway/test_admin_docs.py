"""Every command in docs/rest-admin.md does what stands below it, in the order of the page."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from gateway_process import SECONDS, GatewayProcess
from test_rest_docs import BLOCK, assert_like, documents

from headrace.testing import Broker

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rest-admin.md"


def test_every_command_of_the_page(new_gateway: Callable[..., GatewayProcess]) -> None:
    with Broker() as broker:
        url = new_gateway(bootstrap=broker.bootstrap).url
        for command, shown in BLOCK.findall(PAGE.read_text()):
            command = command.replace("localhost:8080", url.removeprefix("http://"))
            ran = subprocess.run(["bash", "-ec", command], capture_output=True, text=True, timeout=SECONDS, check=False)
            assert ran.returncode == 0, (command, ran)
            assert_like(documents(ran.stdout), documents(shown))
