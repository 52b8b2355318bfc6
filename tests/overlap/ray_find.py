"""``leakage overlap`` on Ray; run by ``engine/test_ray.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

import positionbias as pb
from positionbias.engine.choose import Engine

from .sets import bytes_of


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_ray_writes_the_same_bytes(tmp_path: Path, many: tuple[list[Path], Path, dict[str, bytes]]) -> None:
    files, test, wanted = many
    pb.overlap_leakage(files, tests=[test], engine=Engine(engine="ray"), out=tmp_path / "out")
    assert bytes_of(tmp_path / "out") == wanted
