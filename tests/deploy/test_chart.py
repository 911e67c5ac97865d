"""deploy/helm: linted and rendered by Helm's library, decoded strictly into Kubernetes' types, its commands understood."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from refusal import Refused

from headrace.cli.config.file import ConfigFile, read_config
from headrace.cli.run.gateway_config import gateway_settings
from headrace.cli.run.serve_options import ServeOptions, parse_arguments

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "headrace"
STORE = {"metadata": {"store": "etcd://etcd-0:2379,etcd-1:2379/queue"}}
FILE = "/etc/headrace/headrace.toml"
Lint = Callable[..., Any]


class Release:
    def __init__(self, report: dict[str, Any], folder: Path) -> None:
        self.notes: str = report["notes"]
        self.messages: list[str] = report["messages"]
        self.all: list[dict[str, Any]] = report["manifests"]
        self.file = folder / "headrace.toml"
        (config,) = self.of("ConfigMap")
        self.file.write_text(config["data"]["headrace.toml"])

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [each for each in self.all if each["kind"] == kind]

    def one(self, kind: str, ending: str) -> dict[str, Any]:
        (found,) = [each for each in self.of(kind) if each["metadata"]["name"].endswith(ending)]
        return found

    @property
    def config(self) -> ConfigFile:
        return read_config(str(self.file))

    def broker(self, index: int) -> ServeOptions:
        """As the shell of the pod with this number would call it."""
        stateful = self.one("StatefulSet", "-broker")
        container = container_of(stateful)
        assert container["command"] == ["sh", "-c"]
        (script,) = container["args"]
        pod = f"{stateful['metadata']['name']}-{index}"
        # Every word on a line of its own, in the place of the broker.
        shown = script.replace("exec headrace serve", "printf '%s\\n'").replace(FILE, str(self.file))
        said = subprocess.run(["sh", "-c", shown], env={"POD_NAME": pod}, capture_output=True, text=True, check=True)
        return parse_arguments(said.stdout.splitlines())


def container_of(workload: dict[str, Any]) -> dict[str, Any]:
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    return container


@pytest.fixture
def release(lint: Lint, tmp_path: Path) -> Callable[..., Release]:
    def rendered(**values: Any) -> Release:
        file = tmp_path / "values.yaml"
        file.write_text(yaml.safe_dump({**STORE, **values}))
        return Release(lint("chart", CHART, file), tmp_path)

    return rendered


def test_brokers_and_gateways_are_there_and_helm_finds_no_fault(release: Callable[..., Release]) -> None:
    found = release()
    assert found.messages == ["[INFO] Chart.yaml: icon is recommended"]
    assert [each["spec"]["replicas"] for each in found.of("StatefulSet") + found.of("Deployment")] == [3, 2]
    assert "queue-headrace-bootstrap.default:9092" in found.notes


def test_each_pod_is_a_broker_that_the_others_can_reach(release: Callable[..., Release]) -> None:
    found = release(brokers={"count": 4})
    brokers = [found.broker(index) for index in range(4)]
    headless = found.one("Service", "-brokers")
    stateful = found.one("StatefulSet", "-broker")
    assert [each.id for each in brokers] == [1, 2, 3, 4]
    assert stateful["spec"]["serviceName"] == headless["metadata"]["name"]
    assert headless["spec"]["clusterIP"] == "None" and headless["spec"]["publishNotReadyAddresses"]
    domain = f"{headless['metadata']['name']}.default.svc.cluster.local"
    assert [each.advertised_host for each in brokers] == [f"queue-headrace-broker-{n}.{domain}" for n in range(4)]
    assert {(each.store, each.host) for each in brokers} == {(STORE["metadata"]["store"], "0.0.0.0")}
    assert brokers[0].settings == {"default.replication.factor": "3", "min.insync.replicas": "2"}
    gateway = gateway_settings(found.config, {})
    assert gateway.allow_insecure_network and all(each.allow_insecure_network for each in brokers)
    closed = release(allowInsecureNetwork=False)
    assert not closed.broker(0).allow_insecure_network
    assert not gateway_settings(closed.config, {}).allow_insecure_network
    assert gateway.bootstrap.split(",") == [f"{each.advertised_host}:{each.port}" for each in brokers]
    assert list(gateway.broker_metrics) == [f"{each.advertised_host}:{each.metrics_port}" for each in brokers]


def test_data_ports_and_probes_are_where_the_broker_has_them(release: Callable[..., Release]) -> None:
    found = release(brokers={"port": 9192, "metricsPort": 9999}, gateway={"port": 8888})
    stateful, broker = found.one("StatefulSet", "-broker"), found.broker(0)
    container = container_of(stateful)
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert ports == {"kafka": broker.port, "metrics": broker.metrics_port} == {"kafka": 9192, "metrics": 9999}
    paths = {name: container[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert paths == {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"}
    assert {container[name]["httpGet"]["port"] for name in paths} == {"metrics"}
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    (claim,) = stateful["spec"]["volumeClaimTemplates"]
    assert mounts[claim["metadata"]["name"]] == broker.data
    gateway = container_of(found.one("Deployment", "-gateway"))
    assert [each["containerPort"] for each in gateway["ports"]] == [8888] == [gateway_settings(found.config, {}).port]
    assert {gateway[name]["httpGet"]["path"] for name in paths} == {"/health", "/ready"}


def test_everything_that_is_named_is_there(release: Callable[..., Release]) -> None:
    found = release(gateway={"ingress": {"enabled": True, "host": "queue.example.com", "tlsSecret": "queue-tls"}})
    workloads = found.of("StatefulSet") + found.of("Deployment")
    (config,) = found.of("ConfigMap")
    for workload in workloads:
        pod = workload["spec"]["template"]
        names = {volume["name"] for volume in pod["spec"]["volumes"]}
        names |= {claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", ())}
        assert {mount["name"] for mount in container_of(workload)["volumeMounts"]} == names
        maps = [volume["configMap"]["name"] for volume in pod["spec"]["volumes"] if "configMap" in volume]
        assert maps == [config["metadata"]["name"]]
        assert workload["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    for service in found.of("Service"):
        (workload,) = [each for each in workloads if is_selected(service["spec"]["selector"], each)]
        ports = {port["name"] for port in container_of(workload)["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    for budget in found.of("PodDisruptionBudget"):
        assert len([each for each in workloads if is_selected(budget["spec"]["selector"]["matchLabels"], each)]) == 1
    (rule,) = found.one("Ingress", "-gateway")["spec"]["rules"]
    backend = rule["http"]["paths"][0]["backend"]["service"]
    assert backend["name"] == found.one("Service", "-gateway")["metadata"]["name"]
    assert "queue.example.com" in gateway_settings(found.config, {}).allowed_hosts


def is_selected(labels: dict[str, str], workload: dict[str, Any]) -> bool:
    found: dict[str, str] = workload["spec"]["template"]["metadata"]["labels"]
    return labels.items() <= found.items()


def test_settings_and_secrets_reach_the_processes(release: Callable[..., Release]) -> None:
    found = release(
        metadata={"store": "etcd://me@etcd:2379/queue", "passwordSecret": {"name": "etcd-login"}},
        brokers={"settings": {"log.retention.hours": 24, "auto.create.topics.enable": False}},
        gateway={"settings": {"messages_max": 500, "allowed_hosts": "mine.example.com"}},
    )
    settings = found.broker(0).settings
    assert (settings["log.retention.hours"], settings["auto.create.topics.enable"]) == ("24", "false")
    gateway = gateway_settings(found.config, {})
    assert (gateway.messages_max, gateway.allowed_hosts) == (500, ("mine.example.com",))
    environment = {each["name"]: each["valueFrom"] for each in container_of(found.one("StatefulSet", "-broker"))["env"]}
    assert environment["HEADRACE_ETCD_PASSWORD"]["secretKeyRef"] == {"name": "etcd-login", "key": "password"}


def test_large_numbers_stay_whole(release: Callable[..., Release]) -> None:
    """Helm has them as floating numbers, and would write 1.073741824e+09."""
    found = release(
        brokers={"settings": {"log.segment.bytes": 1 << 30, "log.cleaner.min.cleanable.ratio": 0.25}},
        gateway={"settings": {"push_buffer_bytes_max": 1 << 28, "scrape_seconds": 2.5}},
    )
    settings, gateway = found.broker(0).settings, gateway_settings(found.config, {})
    assert (settings["log.segment.bytes"], settings["log.cleaner.min.cleanable.ratio"]) == ("1073741824", "0.25")
    assert (gateway.push_buffer_bytes_max, gateway.scrape_seconds) == (1 << 28, 2.5)


def test_pods_hear_nothing_of_services_from_their_environment(release: Callable[..., Release]) -> None:
    """Of a release called headrace, HEADRACE_GATEWAY_PORT would be tcp://… and no port."""
    found = release()
    pods = [each["spec"]["template"]["spec"] for each in found.of("StatefulSet") + found.of("Deployment")]
    assert [each["enableServiceLinks"] for each in pods] == [False, False]


def test_a_cluster_without_gateways(release: Callable[..., Release]) -> None:
    assert release(gateway={"enabled": False}).of("Deployment") == []


@pytest.mark.parametrize(
    ("values", "cause"),
    [
        ({"metadata": {"store": ""}}, "metadata.store names the etcd"),
        ({"metadata": {"store": "/a/file"}}, "store"),
        ({"brokers": {"cuont": 3}}, "cuont"),
        ({"brokers": {"count": "three"}}, "count"),
        ({"gateway": {"ingress": {"enabled": True}}}, "gateway.ingress.host is the name"),
    ],
)
def test_wrong_values_are_refused(release: Callable[..., Release], values: dict[str, Any], cause: str) -> None:
    with pytest.raises(Refused, match=cause):
        release(**values)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("podManagementPolicy:", "podManagmentPolicy:"),
        ("replicas: {{ .Values.brokers.count }}", 'replicas: "3"'),
        ("containerPort: {{ .Values.brokers.port }}", "containerPort: kafka"),
        ("apiVersion: apps/v1", "apiVersion: apps/v2"),
    ],
)
def test_a_field_that_kubernetes_does_not_know_is_refused(lint: Lint, tmp_path: Path, right: str, wrong: str) -> None:
    copy = Path(shutil.copytree(CHART, tmp_path / "headrace"))
    template = copy / "templates" / "brokers.yaml"
    assert right in template.read_text()
    template.write_text(template.read_text().replace(right, wrong))
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump(STORE))
    with pytest.raises(Refused):
        lint("chart", copy, values)


def test_chart_and_package_have_one_version() -> None:
    from headrace import __version__

    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] == __version__
