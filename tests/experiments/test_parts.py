"""A study's parts side by side: on as many threads anywhere, told in order, and ended by the first
error.
"""

from __future__ import annotations

import os
import threading
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from threadpoolctl import threadpool_info

from positionbias.core.errors import SettingError, StorageError
from positionbias.core.publish import only_one
from positionbias.engine.choose import Engine
from positionbias.experiments import step as step_module
from positionbias.experiments.models import ModelSettings
from positionbias.experiments.parts import Part, in_parts
from positionbias.experiments.step import Steps
from positionbias.training.config import TrainConfig

from ..tiny import TINY


def models(threads: int) -> list[ModelSettings]:
    return [ModelSettings("tk", TINY, TrainConfig(threads=threads))]


class Made(NamedTuple):
    item: int
    threads: int
    process: int


def make(steps: Steps, item: int) -> Made:
    steps.make(
        f"step-{item}",
        steps.folder / str(item),
        {},
        {},
        partial((steps.folder / str(item)).write_text, str(item)),
    )
    (numpy,) = {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}
    assert numpy == torch.get_num_threads()  # its products too have other last bits
    return Made(item, numpy, os.getpid())


@pytest.fixture
def four_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("positionbias.engine.choose.cores", lambda: 4)


@pytest.mark.usefixtures("four_processors")
def test_parts_have_the_threads_of_their_trainings_in_every_process(tmp_path: Path) -> None:
    threads = 2
    before, told = torch.get_num_threads(), list[str]()
    steps, engine = Steps(tmp_path, told.append), Engine(workers=2)
    # as students are: each needs its teacher, and nothing else
    first = in_parts(engine, steps, partial(make, steps), range(3), models(threads))
    items = (10 + one.item for one in first)
    found = list(in_parts(engine, steps, partial(make, steps), items, models(threads)))
    assert [one.item for one in found] == [10, 11, 12]
    assert {one.threads for one in found} == {threads}
    assert os.getpid() not in {one.process for one in found}
    numbers = [int(line.split(":")[0].removeprefix("step-")) for line in told]
    assert [number for number in numbers if number < 10] == [0, 1, 2]
    assert [number for number in numbers if number >= 10] == [10, 11, 12]
    assert torch.get_num_threads() == before
    # alone, they are the same, and nothing is made again
    again = list(in_parts(Engine(), steps, partial(make, steps), (10, 11, 12), models(threads)))
    assert again == [one._replace(process=os.getpid()) for one in found]
    assert told[6:] == [f"step-{number}: done before" for number in (10, 11, 12)]


@pytest.mark.usefixtures("four_processors")
def test_parts_of_all_processors_are_made_one_after_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = Steps(tmp_path)
    found = list(
        in_parts(Engine(workers=2), steps, partial(make, steps), range(2), [*models(1), *models(3)])
    )
    assert found == [Made(number, 3, os.getpid()) for number in range(2)]
    said = (
        "models are made one after another, as each takes 3 threads; with --set threads=1 "
        "several are "
        "made side by side"
    )
    assert said in " ".join(capsys.readouterr().err.split())


def test_how_many_parts_run_at_once_worked_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("positionbias.engine.choose.cores", lambda: 8)
    assert [Engine(workers=4).at_once(threads) for threads in (1, 2, 3, 5, 8, 16)] == [
        4,
        4,
        2,
        1,
        1,
        1,
    ]
    assert Engine(workers=4).at_once(8, gpus=True) == 4
    assert [Engine(workers=12, engine="ray").at_once(threads) for threads in (1, 4, 16)] == [
        12,
        3,
        1,
    ]
    assert Engine(engine="ray:head:6379").at_once(4) is None


def test_another_kind_of_device_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = Part(int, Steps(tmp_path), 1, "cuda")
    with pytest.raises(
        SettingError,
        match="--engine: wanted cuda on every machine, as on the study's own; found cpu on",
    ):
        part(1)


def test_a_step_that_another_process_is_at_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_module, "PATIENCE", 0.3)
    make(Steps(tmp_path), 1)
    receipt = tmp_path / "steps" / "step-1.json"
    kept = receipt.read_bytes()
    receipt.unlink()
    held, let_go = threading.Event(), threading.Event()

    def other() -> None:
        with only_one(tmp_path / "1"):
            held.set()
            let_go.wait()
            receipt.write_bytes(kept)

    thread = threading.Thread(target=other)
    thread.start()
    held.wait()
    with pytest.raises(StorageError, match="wanted to be the only one writing here; found another"):
        make(Steps(tmp_path), 1)
    monkeypatch.setattr(step_module, "PATIENCE", 60.0)
    threading.Timer(0.3, let_go.set).start()
    told: list[str] = []
    make(Steps(tmp_path, told.append), 1)
    thread.join()
    assert told == ["step-1: done before"]
    assert not list(tmp_path.glob(".*"))
