"""Model cards: metadata for the Hub and plain sections, made of manifest and files alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from positionbias.core.collection import Collection
from positionbias.core.manifest import Manifest, input_ref, read_manifest
from positionbias.models.bert_cat import BertCat
from positionbias.models.checkpoint import save_checkpoint
from positionbias.models.encoder import load_encoder
from positionbias.models.shapes import BertCatConfig

from ..tiny import planted, saved_tk, tiny_encoder


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return planted(tmp_path_factory.mktemp("card") / "planted")


def made(
    place: Path, model: Any, collection: Collection, base: str | None = None
) -> tuple[dict[str, Any], str]:
    inputs = (input_ref("collection", collection.path, collection.checksum, artefact=place),)
    content = {"validation_ndcg@10": 0.51234, "first_stage_ndcg@10": 0.4, "steps": 30}
    settings = {"training": {"loss": "hinge", "batch_size": 8, "learning_rate": 7e-6}}
    facts: dict[str, Any] = {"settings": settings, "seed": 7, "inputs": inputs, "content": content}
    manifest = Manifest("checkpoint", "m", "train bert_cat", licence='CC0-1.0: "free"', **facts)
    save_checkpoint(place, model, depth=4, training={}, manifest=manifest, base=base)
    return read((place / "README.md").read_text())


def read(card: str) -> tuple[dict[str, Any], str]:
    _, metadata, text = card.split("---\n", 2)
    return yaml.safe_load(metadata), text


def test_a_card_says_where_a_model_comes_from(collection: Collection, tmp_path: Path) -> None:
    model = BertCat(BertCatConfig(30), load_encoder(tiny_encoder(tmp_path / "tiny")))
    facts, text = made(tmp_path / "cat.ckpt", model, collection, base="distilbert-base-uncased")
    assert facts == {
        "library_name": "transformers",
        "pipeline_tag": "text-ranking",
        "license": "other",
        "license_name": "of-the-training-data",
        "datasets": ["planted"],
        "base_model": "distilbert-base-uncased",
        "tags": ["positionbias", "bert_cat", "sentence-transformers"],
    }
    for line in (
        "# m",
        "- seed: 7",
        "- loss: hinge",
        "- steps: 30",
        f"- collection: planted (`{collection.checksum}`)",
        (
            "nDCG@10 on validation queries: 0.5123, re-ranking the first 4 candidates; the first "
            "stage's own order has 0.4000."
        ),
        'Of the training data: CC0-1.0: "free".',
        '    transformers.AutoModelForSequenceClassification.from_pretrained("m")',
    ):
        assert line in text.splitlines()
    assert str(tmp_path) not in text


def test_a_model_of_words_has_one_too_and_it_is_sealed(
    collection: Collection, tmp_path: Path
) -> None:
    one, two = (
        saved_tk(tmp_path / "a" / "tk.ckpt", collection),
        saved_tk(tmp_path / "b" / "tk.ckpt", collection),
    )
    assert (one / "README.md").read_bytes() == (two / "README.md").read_bytes()
    facts, text = read((one / "README.md").read_text())
    assert (facts["library_name"], facts["datasets"]) == ("positionbias", ["planted"])
    assert "Not validated while it was trained." in text
    files = read_manifest(one).files
    assert files is not None
    assert files["README.md"].bytes == (one / "README.md").stat().st_size
