"""Training sets of clicks that were stopped: the next run ends with the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from positionbias.clicks import trainset
from positionbias.clicks.trainset import ranges
from positionbias.core.blocks import file_blocks
from positionbias.core.collection import Collection
from positionbias.core.run_files import query_lines
from tests.clicks.conftest import contents, draw


def test_an_interrupted_run_goes_on(
    clicks: tuple[Collection, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainset, "file_blocks", lambda path: file_blocks(path, 700))
    whole = list(draw(tmp_path / "whole", clicks))
    made = stop_at(monkeypatch, "draw_block", 4)
    with pytest.raises(KeyboardInterrupt):
        draw(tmp_path / "set", clicks)
    assert not (tmp_path / "set").exists()
    blocks = len(list(query_lines(file_blocks(clicks[1], 700), clicks[1])))
    assert list(draw(tmp_path / "set", clicks)) == whole
    assert len(made) == blocks + 1  # three blocks were kept, the fourth was begun twice
    assert not (tmp_path / "set" / ".draws").exists()


def stop_at(monkeypatch: pytest.MonkeyPatch, name: str, time: int) -> list[int]:
    """Let a function of ``trainset`` be interrupted when it is called for the given time; gives
    what counts its calls.
    """
    made: list[int] = []
    whole = getattr(trainset, name)

    def failing(*given: Any, **more: Any) -> Any:
        made.append(1)
        if len(made) == time:
            raise KeyboardInterrupt
        return whole(*given, **more)

    monkeypatch.setattr(trainset, name, failing)
    return made


def test_stopped_among_the_groups_it_ends_with_the_same_bytes(
    clicks: tuple[Collection, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # several shards of groups
    monkeypatch.setattr(
        trainset, "ranges", lambda paths, drawn, wanted: ranges(paths, drawn, wanted, 200)
    )
    draw(tmp_path / "whole" / "set", clicks, negatives=15)
    made = stop_at(monkeypatch, "_groups_of", 2)
    with pytest.raises(KeyboardInterrupt):
        draw(tmp_path / "part" / "set", clicks, negatives=15)
    draw(tmp_path / "part" / "set", clicks, negatives=15)
    assert len(made) > 2
    assert contents(tmp_path / "part" / "set") == contents(tmp_path / "whole" / "set")
