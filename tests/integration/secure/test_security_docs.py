"""The walk-through of docs/security.md and README's section: every command is run, and prints what stands below it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from secured import SECONDS, SecuredUp

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "security.md").read_text()
README = (ROOT / "README.md").read_text().split("\n## Secure it\n")[1].split("\n## ")[0].replace("data-safe", "data")
ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def commands_of(title: str) -> list[tuple[str, str]]:
    """The commands of a section, each with what is shown below it."""
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return [
        (command, shown)
        for block in re.findall(r"```\n(\$ .*?)```", section, re.DOTALL)
        for command, _, shown in (each.partition("\n") for each in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:])
    ]


COMMANDS = commands_of("One command")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredUp]:
    running = SecuredUp(tmp_path_factory.mktemp("docs"), brokers=3).start()
    yield running
    running.stop()


def said_by(command: str, up: SecuredUp) -> str:
    """What a shell in the folder of the data shows, without figures of speed."""
    script = re.sub(r"(^|\| )(?:\.venv/bin/)?headrace ", rf"\1{sys.executable} -m headrace.cli ", command)
    environment = {**os.environ, "HEADRACE_CONFIG": str(up.admin_file)}
    ran = subprocess.run(
        script,
        shell=True,
        cwd=up.data.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return ran.stdout + re.sub(r"^sent 1 message .*\n", "", ran.stderr)


def test_the_walk_through(up: SecuredUp) -> None:
    assert len(COMMANDS) > 10
    for command, shown in COMMANDS:
        assert said_by(command, up).strip() == shown.strip(), command


def test_tokens(up: SecuredUp) -> None:
    """The section's commands, with the id of the token that they make, at another time."""
    token_id = ""
    for command, shown in commands_of("Tokens"):
        said = said_by(ID.sub(token_id, command), up)
        token_id = token_id or ID.findall(said)[0]
        expected = ID.sub(token_id, shown)
        assert [*map(str.split, MOMENT.sub("then", said).splitlines())] == [
            *map(str.split, MOMENT.sub("then", expected).splitlines())
        ], command


def test_the_readme_says_what_up_says(up: SecuredUp) -> None:
    first, lines, commands = re.findall(r"```\n(.*?)```", README, re.DOTALL)
    assert first == 'make up ARGS="--secure --data data"\n'
    told = dict(line.split("=", 1) for line in lines.splitlines())
    assert up.data.parent / told.pop("ssl.ca.location") == Path(up.admin["ssl.ca.location"])
    assert told.items() <= up.admin.items()
    for command in commands.splitlines()[1:]:
        # Those of the page are there already.
        command = command.replace("orders", "bills").replace("alice", "bert")
        if "user add" in command:
            command += " --password-file bert.password"
            (up.data.parent / "bert.password").write_text("correct-horse")
        assert "error" not in said_by(command, up), command


def test_a_cluster_of_several_hosts_is_understood() -> None:
    """The file of the page; its addresses are nobody's here, so it is not started."""
    from headrace.cli.config.file import parse_config
    from headrace.cluster.broker_config import BrokerConfig
    from headrace.cluster.listeners import plan_listeners

    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    config = BrokerConfig(parse_config("page.toml", text).broker)
    plan = plan_listeners(config, "127.0.0.1", 9092, None)
    assert [(each.name, each.protocol) for each in plan.listeners] == [("CLIENTS", "SASL_SSL"), ("BROKERS", "SSL")]
    assert config.of_listener("BROKERS", "ssl.client.auth") == "required"
