"""The job script and the manifest of docs/cluster.md: what they start, and which fields they
have.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

PAGE = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text("utf-8")
BASH = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
STUBS = {
    "scontrol": "echo node1; echo node2; echo node3",
    "srun": 'while [[ $1 == --* ]]; do o="$o $1"; shift; done; echo "srun$o $*" >> "$LOG"; "$@"',
    "ray": 'echo "ray $*" >> "$LOG"; [[ $1 == status ]] || sleep 5',
    "posbias": 'sleep 1; echo "posbias $*" >> "$LOG"',
}
# of KubeRay's ray.io/v1; True: required
FIELDS: Mapping[str, Mapping[str, bool]] = {
    "": {"apiVersion": True, "kind": True, "metadata": True, "spec": True},
    "metadata": {"name": True},
    "spec": {
        "entrypoint": True,
        "shutdownAfterJobFinishes": False,
        "backoffLimit": False,
        "rayClusterSpec": True,
    },
    "spec.rayClusterSpec": {"headGroupSpec": True, "workerGroupSpecs": False},
    "spec.rayClusterSpec.headGroupSpec": {"rayStartParams": False, "template": True},
    "spec.rayClusterSpec.workerGroupSpecs": {
        **dict.fromkeys(("groupName", "minReplicas", "maxReplicas", "template"), True),
        **dict.fromkeys(("replicas", "rayStartParams"), False),
    },
}
POD = {"containers", "volumes"}
CONTAINER = {"name", "image", "env", "resources", "volumeMounts"}


def fenced(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return str(found)


@BASH
def test_the_job_script_is_well_formed(tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text(fenced("bash"))
    subprocess.run(["bash", "-n", script], check=True)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", script], check=True)


@BASH
def test_the_job_script_starts_ray_on_every_node_and_the_command_on_the_first(
    tmp_path: Path,
) -> None:
    for name, body in STUBS.items():
        stub = tmp_path / name
        stub.write_text(f"#!/usr/bin/env bash\n{body}\n")
        stub.chmod(0o755)
    log = tmp_path / "log"
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "LOG": str(log),
        "SLURM_SUBMIT_DIR": str(tmp_path),
    }
    environment |= {
        "SLURM_JOB_NODELIST": "node[1-3]",
        "SLURM_JOB_ID": "20042",
        "SLURM_JOB_NUM_NODES": "3",
    }
    subprocess.run(["bash", "-c", fenced("bash")], check=True, env=environment, timeout=60)
    told = log.read_text().splitlines()
    address, first = "node1:20042", "--overlap --nodes=1 --ntasks=1 --nodelist=node1"
    assert f"srun {first} ray start --head --port=20042 --include-dashboard=false --block" in told
    assert f"srun {first} ray status --address={address}" in told
    assert (
        f"srun --overlap --nodes=2 --ntasks=2 --exclude=node1 ray start --address={address} --block"
        in told
    )
    engine = f"--set engine=ray:{address}"
    command = f"model encode ./msmarco --model minilm --out ./vectors {engine}"
    assert told[-1] == f"posbias {command}"
    assert f"srun {first} posbias {command}" in told


def objects(of: Any, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every object of the manifest outside of pods, by its path; those of a list share one."""
    for one in of if isinstance(of, list) else [of]:
        if isinstance(one, Mapping) and path.rpartition(".")[2] not in (
            "template",
            "rayStartParams",
        ):
            yield path, one
            for name, value in one.items():
                yield from objects(value, f"{path}.{name}".lstrip("."))


def test_the_ray_job_has_the_fields_that_kuberay_knows() -> None:
    job = yaml.safe_load(fenced("yaml"))
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    seen = dict.fromkeys(FIELDS, 0)
    for path, one in objects(job):
        known = FIELDS[path]
        assert one.keys() <= known.keys(), path
        assert {name for name, required in known.items() if required} <= one.keys(), path
        seen[path] += 1
    assert all(seen.values())
    assert json.loads(json.dumps(job)) == job  # no dates, no sets


def test_pods_share_a_file_system_and_have_gpus() -> None:
    cluster = yaml.safe_load(fenced("yaml"))["spec"]["rayClusterSpec"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        pod = group["template"]["spec"]
        (container,) = pod["containers"]
        assert (pod.keys(), container.keys()) == (POD, CONTAINER)
        assert int(container["resources"]["limits"]["nvidia.com/gpu"]) >= 1
        assert [mount["name"] for mount in container["volumeMounts"]] == [
            volume["name"] for volume in pod["volumes"]
        ]
        assert (
            container["resources"]["limits"]["memory"]
            == container["resources"]["requests"]["memory"]
        )
    (workers,) = cluster["workerGroupSpecs"]
    assert workers["minReplicas"] == workers["replicas"] == workers["maxReplicas"]


def test_both_recipes_run_commands_that_there_are() -> None:
    from tests.documentation.test_commands import parsed

    for language in ("bash", "yaml"):
        (command,) = re.findall(r"posbias (model encode .*)$", fenced(language), re.MULTILINE)
        parsed(command.replace('"', "").split())
