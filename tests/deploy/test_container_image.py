"""deploy/docker: the image has what its parts start with, and the compose file starts what the parts understand."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.cli.config.file import read_config
from headrace.cli.options import parse_pairs
from headrace.cli.run.gateway_config import gateway_settings
from headrace.cli.run.serve_options import ServeOptions, parse_arguments

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "deploy" / "docker"
IMAGE_FILE = "/etc/headrace/headrace.toml"
Lint = Callable[..., Any]


def in_image(path: str) -> str:
    """The file of the repository that the image has there."""
    return str(DOCKER / "headrace.toml") if path == IMAGE_FILE else path


def serve_options(words: list[str]) -> ServeOptions:
    assert words[0] == "serve", words
    return parse_arguments([word.replace(IMAGE_FILE, in_image(IMAGE_FILE)) for word in words[1:]])


def gateway_of(words: list[str]) -> Any:
    """Its settings, as `headrace gateway` takes them from these words and the file."""
    assert words[0] == "gateway", words
    options = [word.removeprefix("--").partition("=") for word in words[1:]]
    told = {name: value for name, _, value in options if name != "set"}
    pairs = parse_pairs([value for name, _, value in options if name == "set"], "--set")
    file = read_config(in_image(told.pop("config")))
    return gateway_settings(file, {**told, **pairs})


@pytest.fixture(scope="module")
def instructions(lint: Lint) -> list[dict[str, Any]]:
    return lint("dockerfile", DOCKER / "Dockerfile")


def words_of(instructions: list[dict[str, Any]], name: str) -> list[str]:
    (found,) = [each for each in instructions if each["name"] == name]
    return json.loads(found["text"].partition(" ")[2])


def test_the_image_copies_what_is_there(instructions: list[dict[str, Any]]) -> None:
    copies = [each for each in instructions if each["name"] == "COPY" and not each.get("from")]
    sources = [source for copy in copies for source in copy["text"].split()[1:-1]]
    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert "deploy/docker/headrace.toml" in sources, "what the command names"


def test_the_image_starts_a_broker_for_others_to_reach(instructions: list[dict[str, Any]]) -> None:
    assert words_of(instructions, "ENTRYPOINT") == ["headrace"]
    options = serve_options(words_of(instructions, "CMD"))
    assert (options.host, options.data, options.log_format) == ("0.0.0.0", "/var/lib/headrace", "json")
    assert options.allow_insecure_network and gateway_of(["gateway", f"--config={IMAGE_FILE}"]).allow_insecure_network
    exposed = next(each["text"] for each in instructions if each["name"] == "EXPOSE")
    gateway = gateway_of(["gateway", f"--config={IMAGE_FILE}"])
    assert {str(port) for port in (options.port, options.metrics_port, gateway.port)} == set(exposed.split()[1:])
    health = next(each["text"] for each in instructions if each["name"] == "HEALTHCHECK")
    assert f"127.0.0.1:{options.metrics_port}/livez" in health
    assert any(each["text"] == f"VOLUME {options.data}" for each in instructions)


def test_the_image_of_etcd_is_sound(lint: Lint) -> None:
    assert lint("dockerfile", DOCKER / "etcd.Dockerfile")


@pytest.fixture(scope="module")
def services(lint: Lint) -> dict[str, Any]:
    found: dict[str, Any] = lint("compose", DOCKER / "compose.yaml")["services"]
    return found


def test_compose_has_brokers_gateways_and_etcd(services: dict[str, Any]) -> None:
    wanted = {"broker": 3, "etcd": 3, "gateway": 2}
    assert set(services) == {f"{kind}-{number}" for kind, many in wanted.items() for number in range(1, many + 1)}
    for service in services.values():
        build = service["build"]
        assert (Path(build["context"]) / build["dockerfile"]).is_file()


def test_the_brokers_of_the_compose_file_are_understood(services: dict[str, Any]) -> None:
    brokers = [serve_options(services[f"broker-{number}"]["command"]) for number in (1, 2, 3)]
    assert [(each.id, each.port, each.rack) for each in brokers] == [(1, 9092, "a"), (2, 9093, "b"), (3, 9094, "c")]
    assert {each.store for each in brokers} == {"etcd://etcd-1:2379,etcd-2:2379,etcd-3:2379/headrace"}
    for broker in brokers:
        service = services[f"broker-{broker.id}"]
        published = {(port["target"], port.get("published")) for port in service["ports"]}
        # Clients are told the port that the broker listens on.
        assert (broker.port, str(broker.port)) in published
        assert [volume["target"] for volume in service["volumes"]] == [broker.data]
        assert f"127.0.0.1:{broker.metrics_port}/readyz" in service["healthcheck"]["test"][-1]
        assert set(service["depends_on"]) == {"etcd-1", "etcd-2", "etcd-3"}


def test_the_gateways_of_the_compose_file_know_the_brokers(services: dict[str, Any]) -> None:
    brokers = [serve_options(services[f"broker-{number}"]["command"]) for number in (1, 2, 3)]
    for name in ("gateway-1", "gateway-2"):
        service, gateway = services[name], gateway_of(services[name]["command"])
        assert gateway.bootstrap == ",".join(f"{each.advertised_host}:{each.port}" for each in brokers)
        assert gateway.broker_metrics == tuple(f"broker-{each.id}:{each.metrics_port}" for each in brokers)
        assert name in gateway.allowed_hosts
        (port,) = service["ports"]
        assert (port["target"], port["host_ip"]) == (gateway.port, "127.0.0.1"), "it asks nobody who he is"
        assert f"127.0.0.1:{gateway.port}/health" in service["healthcheck"]["test"][-1]
        assert {needed["condition"] for needed in service["depends_on"].values()} == {"service_healthy"}


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_image_can_be_installed(instructions: list[dict[str, Any]], tmp_path: Path) -> None:
    """The steps of the first stage, in folders of a test: what it copies, and nothing else, is all that it needs."""
    context, target = tmp_path / "build", tmp_path / "opt"
    context.mkdir()
    for each in (each for each in instructions if each["stage"] == 0):
        word, _, text = each["text"].partition(" ")
        if word == "COPY":
            *sources, _ = text.split()
            for source in sources:
                copied = ROOT / source
                if copied.is_dir():
                    shutil.copytree(
                        copied, context / source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
                    )
                else:
                    shutil.copy(copied, context)
        elif word == "RUN":
            command = re.sub(r"\bpython -m venv", f"{shlex.quote(sys.executable)} -m venv", text)
            subprocess.run(["sh", "-ec", command.replace("/opt/headrace", str(target))], cwd=context, check=True)
    headrace = target / "bin" / "headrace"
    said = subprocess.run([headrace, "--version"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert said.stdout.startswith("headrace ")
    command = [headrace, "config", "check", in_image(IMAGE_FILE), "--json"]
    checked = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    # Those of serve and those of the gateway: the image has both.
    assert json.loads(checked.stdout)["settings"] == 5
