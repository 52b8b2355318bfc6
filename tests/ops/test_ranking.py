"""Runs re-ranked from Python."""

from __future__ import annotations

from pathlib import Path

import positionbias
from positionbias.core.run import Run
from positionbias.ranking.config import Reranking

from ..tiny import candidates, planted, saved_tk


def test_a_run(tmp_path: Path) -> None:
    collection = planted(tmp_path / "planted")
    runs = candidates(collection, tmp_path)
    done = positionbias.rerank(
        collection,
        model=saved_tk(tmp_path / "tk.ckpt", collection),
        candidates=runs["test"],
        reranking=Reranking(depth=3, name="mine"),
        out=tmp_path / "tk.run",
    )
    counts = done.rows.set_index("measure")["value"]
    assert (done.path, counts["candidates re-ranked"]) == (tmp_path / "tk.run", 18 * 3)
    assert set(done.rows["model"]) == {"mine"}
    assert Run.from_file(done.path).pairs == Run.from_file(runs["test"]).pairs
