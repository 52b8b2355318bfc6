"""A Ray cluster of two nodes on this machine."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of one CPU each; a death is noticed in a few seconds."""
    from positionbias.engine.ray import _connected
    from positionbias.engine.ray_driver import import_ray

    # dead workers would be reported on standard output; before anything of ray is imported, for its
    # quiet settings
    import_ray()._private.worker._worker_logs_enabled = False
    from ray._common.utils import get_ray_address_file
    from ray.cluster_utils import Cluster

    Path(get_ray_address_file(None)).parent.mkdir(
        parents=True, exist_ok=True
    )  # the cluster's address is written there, and nothing makes it
    quick = {
        "health_check_initial_delay_ms": 0,
        "health_check_period_ms": 500,
        "health_check_failure_threshold": 4,
    }
    with tempfile.TemporaryDirectory(
        prefix="pb-", dir="/tmp", ignore_cleanup_errors=True
    ) as folder:
        made = Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 1,
                "num_gpus": 1,
                "include_dashboard": False,
                "temp_dir": folder,
                "_system_config": quick,
            },
        )
        made.second = made.add_node(num_cpus=1, num_gpus=1)
        # once: Ray has ended a process that had connected often (SIGSEGV)
        with _connected(1, made.address, folder):
            yield made
        made.shutdown()
