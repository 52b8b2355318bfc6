"""Queries encoded by several processes: the same pairs, the same counts, and vectors kept for the
next command.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import positionbias
from positionbias.engine.choose import Engine
from positionbias.leakage.settings import FindSettings, NearestSettings
from positionbias.models.bert_dot import BertDot
from positionbias.models.encoder import load_encoder
from positionbias.models.shapes import BertDotConfig
from positionbias.ops.query_encoder import Encoder

from ..tiny import tiny_encoder

WORDS = ("lamp", "gate", "green", "iron", "oil", "burn", "hall", "water", "stone")


@pytest.fixture
def queries(tmp_path: Path) -> tuple[Path, Path]:
    train, test = tmp_path / "train.tsv", tmp_path / "test.tsv"
    lines = [
        f"{number}\twhat is the {WORDS[number % 9]} of {WORDS[number % 7]}\n"
        for number in range(23)
    ]
    train.write_text("".join(lines))
    test.write_text("a\twhat is the lamp of lamp\nb\tthe green hall\n")
    return train, test


def test_any_workers_find_the_same(
    queries: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("positionbias.leakage.nearest.ENCODE_TEXTS", 4)
    model = BertDot(
        BertDotConfig(pooling="mean"), load_encoder(tiny_encoder(tmp_path / "bert"))
    ).eval()
    model.save(tmp_path / "model")
    found = []
    for number, one in enumerate((Engine(), Engine(workers=2), Engine(workers=2))):
        monkeypatch.setenv("POSBIAS_HOME", str(tmp_path / f"home-{min(number, 1)}"))
        out = tmp_path / f"out-{number}"
        settings = FindSettings(nearest=NearestSettings(neighbours=3, floor=0.5))
        encoder = Encoder(str(tmp_path / "model"), precision="float32")
        positionbias.find_leakage(queries, settings=settings, encoder=encoder, engine=one, out=out)
        found.append((out / "pairs.jsonl").read_bytes())
        told = capsys.readouterr().err
        assert told.startswith("0 texts encoded, 2") if number == 2 else ", 0 reused" in told
    assert found[0]
    assert found == [found[0]] * 3
