"""Several processes train what one trains, but for rounding; the main one alone writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from positionbias.core.errors import SettingError
from positionbias.models.checkpoint import load_checkpoint
from positionbias.training.devices import find_devices
from positionbias.training.state import working_folder

from ..tiny import tiny_encoder
from .conftest import Task

pytestmark = pytest.mark.slow

# batches of 7 and, at an epoch's end, of 2: a process may have one pair, or none; TK's words have
# sparse gradients
SETTINGS: dict = {
    "batch_size": 7,
    "bucket": 2,
    "clip": 5.0,
    "learning_rate": 1e-3,
    "kernel_learning_rate": 1e-3,
}
KINDS = ("tk",)
# they move all keys, or all scores, alike: their gradient is rounding, of which Adam makes whole
# steps
WITHOUT_EFFECT = ("key.bias", "layer.1.output.LayerNorm.bias", "head.bias")

TRAINED = """
import json, sys
from pathlib import Path
import torch
from positionbias.core.collection import Collection
from tests.training.conftest import Task
from tests.training.test_processes import KINDS, SETTINGS

collection, folder, encoder, out = map(Path, sys.argv[1:])
task = Task(Collection(collection), {split: folder / f"{split}.run" for split in ("train", \
"validation", "test")}, encoder)
for kind in KINDS:
    rows = []
    checkpoint = task.train(out / kind, task.plan(kind, **SETTINGS), on_validation=rows.append)
    said = [len(rows), checkpoint.manifest.provenance["processes"]]
    (out / f"{kind}.{torch.distributed.get_rank()}.json").write_text(json.dumps(said))
torch.distributed.destroy_process_group()
"""


@pytest.fixture(scope="module")
def still(task: Task, tmp_path_factory: pytest.TempPathFactory) -> Task:
    """With an encoder that draws nothing: each process has its own dropout."""
    folder = tmp_path_factory.mktemp("still")
    encoder = tiny_encoder(
        folder / "encoder", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    return task._replace(encoder=encoder)


@pytest.fixture(scope="module")
def together(still: Task, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where two processes left one checkpoint a kind."""
    folder, root = tmp_path_factory.mktemp("together"), Path(__file__).parents[2]
    (folder / "trained.py").write_text(TRAINED)
    launch = (
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc_per_node",
        "2",
        folder / "trained.py",
    )
    arguments = (*launch, still.collection.path, still.runs["train"].parent, still.encoder, folder)
    environment = {
        **os.environ,
        "PYTHONPATH": str(root),
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_two_processes_train_what_one_does(
    still: Task, together: Path, tmp_path: Path, kind: str
) -> None:
    alone = still.train(tmp_path / kind, still.plan(kind, **SETTINGS))
    rows, others = (
        alone.training.log,
        json.loads((together / kind / "training.json").read_text())["log"],
    )
    assert [row["pairs"] for row in rows] == [row["pairs"] for row in others] == [0, 14, 14, 9]
    for name in ("loss", "score_margin"):
        assert [row[name] for row in others[1:]] == pytest.approx(
            [row[name] for row in rows[1:]], abs=1e-4
        ), name
    shared = load_checkpoint(together / kind).model.state_dict()
    for name, weight in alone.model.state_dict().items():
        if not name.endswith(WITHOUT_EFFECT):
            torch.testing.assert_close(shared[name], weight, atol=2e-4, rtol=0, msg=name)


@pytest.mark.parametrize("kind", KINDS)
def test_the_main_process_writes_and_tells(together: Path, kind: str) -> None:
    said = [json.loads((together / f"{kind}.{place}.json").read_text()) for place in (0, 1)]
    assert said == [[4, 2], [0, 2]]  # validations told of, processes
    assert not working_folder(together / kind).exists()


def test_processes_that_cannot_work_together(monkeypatch: pytest.MonkeyPatch) -> None:
    find_devices()  # this process stands alone, whatever is said from here on
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(
        SettingError,
        match="4 processes: wanted devices that can train together; found (cpu|cuda|mps); start",
    ):
        find_devices()
