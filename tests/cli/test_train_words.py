"""``posbias train`` knrm, conv_knrm, duet and pacrr: trained, kept, re-ranked with; what they learn
beside chance; what is refused.
"""

from __future__ import annotations

import json
from math import log2
from pathlib import Path
from statistics import mean

import pytest

from positionbias.core.collection import Collection
from positionbias.core.run import Run
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.duet import Duet
from positionbias.models.pacrr import PACRR
from positionbias.planted.settings import PlantedSettings
from tests.commands import posbias

from ..tiny import candidates, planted

OPTIONS = {
    "knrm": (
        "--set",
        "dimension=32",
        "--set",
        "learning_rate=0.002",
        "--set",
        "kernel_learning_rate=0.02",
    ),
    "conv_knrm": (
        "--set",
        "dimension=32",
        "--set",
        "filters=8",
        "--set",
        "longest_ngram=2",
        "--set",
        "learning_rate=0.002",
        "--set",
        "kernel_learning_rate=0.02",
    ),
    "duet": (
        "--set",
        "filters=16",
        "--set",
        "ngraphs=200",
        "--set",
        "passage_length=100",
        "--set",
        "pooling_window=10",
        "--set",
        "learning_rate=0.003",
    ),
    "pacrr": ("--set", "dimension=32", "--set", "filters=4", "--set", "learning_rate=0.02"),
}
TRAINING = ("--set", "threads=1", "--set", "max_steps=60", "--set", "validate_every=30")


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return planted(
        tmp_path_factory.mktemp("words") / "planted", PlantedSettings(queries=240, passages=500)
    )


@pytest.fixture(scope="module")
def runs(collection: Collection) -> dict[str, Path]:
    return candidates(collection, collection.path.parent, depth=8)


def ranks(collection: Collection, run_path: Path) -> list[tuple[int, int]]:
    """Of each test query whose passage is among its candidates: the rank of that, and how many they
    are.
    """
    relevant = {
        qrel.query_id: qrel.passage_id for qrel in collection.qrels("test") if qrel.grade > 0
    }
    found = {
        ranking.query_id: list(ranking.passage_ids)
        for ranking in Run.from_file(run_path).rankings()
    }
    return [
        (ids.index(relevant[q]) + 1, len(ids)) for q, ids in found.items() if relevant[q] in ids
    ]


@pytest.mark.parametrize("kind", OPTIONS)
def test_trained_and_re_ranked_with(
    kind: str, collection: Collection, runs: dict[str, Path], capsys, tmp_path: Path
) -> None:
    given = (
        "--candidates",
        runs["train"],
        "--validation-candidates",
        runs["validation"],
        "--out",
        tmp_path / "m.ckpt",
    )
    code, out, err = posbias(
        capsys, "train", kind, collection.path, *given, *TRAINING, *OPTIONS[kind], "--json"
    )
    assert code == 0, err
    assert "MATS" not in err  # none has vectors for the probe
    losses = [row["value"] for row in json.loads(out)["rows"] if row["measure"] == "loss"]
    assert losses[-1] < losses[0]
    checkpoint = load_checkpoint(tmp_path / "m.ckpt")
    assert (checkpoint.model.kind, checkpoint.manifest.command) == (kind, f"train {kind}")
    assert "blingfire" in checkpoint.manifest.versions
    assert checkpoint.manifest.content["words"] > 100
    if isinstance(checkpoint.model, Duet):
        assert len(json.loads((tmp_path / "m.ckpt" / "ngraphs.json").read_text())) == 200
    if isinstance(checkpoint.model, PACRR):
        # the most frequent word and a rare one
        assert checkpoint.model.idf[2] < checkpoint.model.idf[-1]
    rerank = (
        "rerank",
        collection.path,
        "--model",
        tmp_path / "m.ckpt",
        "--candidates",
        runs["test"],
        "--depth",
        8,
    )
    code, _, err = posbias(capsys, *rerank, "--out", tmp_path / "test.run")
    assert code == 0, err
    found = ranks(collection, tmp_path / "test.run")
    # the one relevant passage's gain, and its mean over a random order's places
    chance = mean(mean(1 / log2(1 + rank) for rank in range(1, of + 1)) for _, of in found)
    assert mean(1 / log2(1 + rank) for rank, _ in found) > chance + 0.1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("duet", "--word-vectors", "v.txt"), "--word-vectors: wanted none for duet"),
        (
            ("duet", "--set", "pooling_window=300"),
            "passage_length: wanted at least the 302 words of a window; found 200",
        ),
    ],
)
def test_what_is_refused(
    arguments, complaint: str, collection: Collection, runs: dict[str, Path], capsys, tmp_path: Path
) -> None:
    kind, *options = arguments
    given = (
        "--candidates",
        runs["train"],
        "--validation-candidates",
        runs["validation"],
        "--out",
        tmp_path / "no.ckpt",
    )
    code, _, err = posbias(capsys, "train", kind, collection.path, *given, *options)
    assert (code, err.count("\n")) == (2, 1)
    assert complaint in err
    assert list(tmp_path.iterdir()) == []
