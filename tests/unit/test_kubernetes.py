"""The manifests for Kubernetes fit its schema, the image, and what the program says of itself."""

from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]  # it ships no types
import pytest
import yaml

from kafka2hive.config.keys import ServiceMap
from kafka2hive.config.load import load_text
from kafka2hive.spark.attempts import PERMANENT
from tests.unit.test_dockerfile import arguments

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "configs/kubernetes"
MANIFESTS = sorted(FOLDER.glob("*.yaml"))
VERSIONS = ["1.31.0", "1.37.0"]
VARIABLES = {"KAFKA_BROKERS": "broker:9092", "POD_NAME": "flights-0", "POD_IP": "10.0.0.7"}


def documents(file: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(file.read_text()))


def pods(file: Path) -> list[dict[str, Any]]:
    """The specifications of the pods that run the service."""
    found = []
    for document in documents(file):
        spec = document.get("spec", {})
        spec = spec["jobTemplate"]["spec"] if "jobTemplate" in spec else spec
        if "template" in spec:
            found.append(spec["template"]["spec"])
    return found


def service_map(file: Path) -> ServiceMap:
    (text,) = [
        document["data"]["map.yaml"] for document in documents(file) if document["kind"] == "ConfigMap"
    ]
    return load_text(text, file.name, VARIABLES)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: file.name)
def test_each_manifest_fits_the_schema_of_kubernetes(file: Path, version: str) -> None:
    assert documents(file)
    for document in documents(file):
        kubernetes_validate.validate(document, version, strict=True)


def test_the_schema_notices_a_field_that_kubernetes_does_not_know() -> None:
    (deployment,) = [d for d in documents(FOLDER / "service.yaml") if d["kind"] == "Deployment"]
    deployment["spec"]["template"]["spec"]["terminationGracePeriod"] = 180
    with pytest.raises(kubernetes_validate.ValidationError, match="terminationGracePeriod"):
        kubernetes_validate.validate(deployment, VERSIONS[-1], strict=True)


def test_the_template_of_executors_fits_it_too_and_has_the_container_that_the_map_names() -> None:
    file = FOLDER / "executors.yaml"
    (config,) = [document for document in documents(file) if document["kind"] == "ConfigMap"]
    template = yaml.safe_load(config["data"]["executor.yaml"])
    kubernetes_validate.validate({**template, "metadata": {"name": "x"}}, VERSIONS[-1], strict=True)
    conf = dict(service_map(file).spark.conf)
    (container,) = template["spec"]["containers"]
    assert container["name"] == conf["spark.kubernetes.executor.podTemplateContainerName"]
    mounts = {
        mount["mountPath"] for pod in pods(file) for c in pod["containers"] for mount in c["volumeMounts"]
    }
    assert str(Path(conf["spark.kubernetes.executor.podTemplateFile"]).parent) in mounts


@pytest.mark.parametrize("name", ["service.yaml", "executors.yaml"])
def test_probes_and_patience_are_those_of_the_map(name: str) -> None:
    chosen, (pod,) = service_map(FOLDER / name), pods(FOLDER / name)
    (container,) = pod["containers"]
    assert chosen.metrics.host == "0.0.0.0"
    assert [port["containerPort"] for port in container["ports"]] == [chosen.metrics.port]
    assert pod["terminationGracePeriodSeconds"] > 2 * chosen.limits.stop_seconds
    paths = {
        probe: container[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "liveness", "readiness")
    }
    assert paths == {"startup": "/live", "liveness": "/live", "readiness": "/ready"}


def test_all_containers_run_one_image_as_its_own_user() -> None:
    (user,) = {
        word for run in arguments("RUN") if "useradd" in run for word in run.split() if word.isdecimal()
    }
    containers = [
        (pod, container) for file in MANIFESTS for pod in pods(file) for container in pod["containers"]
    ]
    conf = dict(service_map(FOLDER / "executors.yaml").spark.conf)
    assert {container["image"] for _, container in containers} == {conf["spark.kubernetes.container.image"]}
    assert {str(pod["securityContext"]["runAsUser"]) for pod, _ in containers} == {user}


def test_a_job_is_not_tried_again_after_what_another_attempt_cannot_change() -> None:
    (job,) = documents(FOLDER / "once.yaml")
    (rule,) = job["spec"]["jobTemplate"]["spec"]["podFailurePolicy"]["rules"]
    assert rule["action"] == "FailJob"
    assert set(rule["onExitCodes"]["values"]) == {int(code) for code in PERMANENT}


def test_memory_of_the_pods_is_what_the_documents_ask_for() -> None:
    task = 256 + 256  # limits.task_memory and what a task takes besides, in MiB
    conf = dict(service_map(FOLDER / "executors.yaml").spark.conf)
    assert conf["spark.executor.memoryOverhead"] == f"{256 + int(conf['spark.executor.cores']) * task}m"
