"""Vectors distilled from an encoder: the recipe by hand and against model2vec, what is left out,
the file.
"""

from __future__ import annotations

import importlib.util
import math
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, OutputExistsError
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.models.distil import (
    PIECES,
    distil,
    frequency_weights,
    principal_components,
    word_states,
)
from positionbias.models.encoder import Encoder, load_encoder
from positionbias.models.settings import DistilSettings
from positionbias.models.word_vectors import read_word_vectors
from positionbias.text.vocabulary import known_words
from tests.tiny import collection_of, tiny_encoder

TEXTS = [
    "The green lamp burns oil in the hall",
    "the iron gate of stone is green",
    "water and oil and the lamp",
    "gate hall iron",
]
SMALL = DistilSettings(dimension=4)


@pytest.fixture(scope="module")
def encoder_at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def encoder(encoder_at: Path) -> Encoder:
    return load_encoder(encoder_at).eval()


def with_queries(place: Path) -> Collection:
    with create_collection(place) as writer:
        writer.add_passages([Passage("p", "the lamp the gate")])
        for split, text in (("train", "what lamp"), ("test", "what stone")):
            writer.add_split(split, [Query(f"{split}1", text)], [Qrel(f"{split}1", "p", 1)])
        writer.finish(Manifest("collection", "asked", "a test"))
    return Collection(place)


def test_words_are_counted_in_passages_and_training_queries(tmp_path: Path) -> None:
    asked, plain = (
        with_queries(tmp_path / "asked"),
        collection_of(tmp_path / "plain", ["The gate."]),
    )
    assert known_words([asked], None) == Counter(the=2, lamp=2, gate=1, what=1)
    assert known_words([asked], ("test",)) == Counter(the=2, lamp=1, gate=1, what=1, stone=1)
    assert known_words([asked, plain], None) == Counter(
        {"the": 3, "lamp": 2, "gate": 2, "what": 1, ".": 1}
    )
    with pytest.raises(InputError, match="wanted split 'train'; found no splits"):
        known_words([plain], ("train",))


def test_a_word_is_the_mean_over_its_pieces_and_the_special_tokens(encoder: Encoder) -> None:
    words = ["lamp", "zq", "gates", "x" * 100]
    rows = encoder.read(words, PIECES)
    states = word_states(encoder, rows, batch_size=2)
    start, end = encoder.tokenizer.cls_token_id, encoder.tokenizer.sep_token_id
    for row, pieces in enumerate(rows):
        with torch.inference_mode():
            hidden = encoder.model(
                input_ids=torch.tensor([[start, *pieces, end]])
            ).last_hidden_state
        np.testing.assert_allclose(states[row], hidden[0].mean(dim=0), rtol=1e-5, atol=2e-6)
    before = torch.get_num_threads()
    for threads in (1, 3):
        np.testing.assert_array_equal(
            states, word_states(encoder, rows, batch_size=2, threads=threads)
        )
    assert torch.get_num_threads() == before
    np.testing.assert_allclose(states, word_states(encoder, rows, batch_size=256), atol=1e-6)


def test_principal_components_by_hand() -> None:
    # around (10, −3), four points on the line y = x and two across it: the components are (1, 1)/√2
    # and (1, −1)/√2
    points = np.array([[11, -2], [9, -4], [11, -2], [9, -4], [10.5, -3.5], [9.5, -2.5]], np.float32)
    scores, kept = principal_components(points, 1)
    root = math.sqrt(2)
    np.testing.assert_allclose(scores[:, 0], [root, -root, root, -root, 0, 0], atol=1e-6)
    assert kept == pytest.approx(8 / 9)  # squares: 4 · 2 along, 2 · 0.5 across
    both, kept = principal_components(points, 2)
    np.testing.assert_allclose(np.abs(both[:, 1]), [0, 0, 0, 0, root / 2, root / 2], atol=1e-6)
    assert kept == pytest.approx(1)


def test_frequency_weights_by_hand() -> None:
    # a = 0.01; shares 0.09, 0.01, 0: 0.01 / 0.10, 0.01 / 0.02, 1
    np.testing.assert_allclose(
        frequency_weights(np.array([9.0, 1.0, 0.0]), 100, 0.01), [0.1, 0.5, 1]
    )
    np.testing.assert_array_equal(frequency_weights(np.array([9.0, 1.0]), 100, 0), [1, 1])


def model2vec_inference() -> ModuleType:
    """model2vec's own functions; its package of them asks for an older transformers, which they do
    not need.
    """
    package = importlib.util.find_spec("model2vec")
    assert package is not None
    assert package.submodule_search_locations is not None
    place = Path(package.submodule_search_locations[0]) / "distill" / "inference.py"
    spec = importlib.util.spec_from_file_location("model2vec_inference", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_model2vec_makes_the_same(encoder: Encoder) -> None:
    theirs = model2vec_inference()
    words = sorted(
        {word.lower() for text in TEXTS for word in text.split()} | {"a", "bc", "def", "gates"}
    )
    rows = encoder.read(words, PIECES)
    start, end = encoder.tokenizer.cls_token_id, encoder.tokenizer.sep_token_id
    wrapped = [[start, *row, end] for row in rows]
    expected = theirs.create_embeddings(
        encoder.model, wrapped, "cpu", encoder.tokenizer.pad_token_id
    )
    ours = word_states(encoder, rows, 256)
    np.testing.assert_allclose(ours, expected, atol=1e-5)
    scores, _ = principal_components(ours, 5)
    components = theirs.apply_pca(expected, 5)
    # theirs go by the largest score, ours by the largest loading
    signs = np.sign((scores * components).sum(axis=0))
    np.testing.assert_allclose(scores, components * signs, atol=1e-4)
    # their counts are Zipf's: 1 / rank, from rank 2
    zipf = 1 / np.arange(2, len(words) + 2)
    np.testing.assert_allclose(
        frequency_weights(zipf, zipf.sum(), 1e-4), theirs.compute_weights(len(words), 1e-4)
    )


def test_the_file_and_its_manifest(encoder_at: Path, encoder: Encoder, tmp_path: Path) -> None:
    (encoder_at / "README.md").write_text(
        "---\nlanguage: en\nlicense: apache-2.0\n---\nlicense: none\n"
    )
    collection = collection_of(tmp_path / "c", [*TEXTS, "旗 旗 旗"])
    manifest = distil([collection], str(encoder_at), tmp_path / "v.safetensors", SMALL)
    counts = known_words([collection], None)
    words = [word for word, count in counts.most_common() if count > 1 and word != "旗"]
    found = read_word_vectors(tmp_path / "v.safetensors", words, 4)
    assert set(found.vectors) == set(words)
    assert found.lines == len(words)
    # the recipe, step by step; only ratios and signs are left to the scale
    states = word_states(encoder, encoder.read(words, PIECES), 1)
    scores, kept = principal_components(states, 4)
    weights = np.array([1e-4 / (1e-4 + counts[word] / counts.total()) for word in words])
    expected = scores * weights[:, None]
    expected *= 0.4 / math.sqrt((expected**2).mean())
    np.testing.assert_allclose(
        np.stack([found.vectors[word] for word in words]), expected, atol=1e-4
    )
    assert manifest.content["variance_kept"] == pytest.approx(kept)
    rare = sum(count == 1 for count in counts.values())
    assert {key: manifest.content[key] for key in ("words", "words_without_pieces",
        "words_too_rare", "dimension")} == {
        "words": len(words), "words_without_pieces": 1, "words_too_rare": rare, "dimension": 4,
    }  # fmt: skip
    assert (
        read_manifest(tmp_path / "v.safetensors", kind="vectors").comparable()
        == manifest.comparable()
    )
    assert manifest.licence == "encoder: apache-2.0; c: not stated"
    (_, other) = manifest.inputs
    assert (other.role, other.path, other.checksum) == ("collection", "../c", collection.checksum)


def test_what_cannot_be(encoder_at: Path, tmp_path: Path) -> None:
    collection, out = collection_of(tmp_path / "c", TEXTS), tmp_path / "v.safetensors"
    with pytest.raises(InputError, match="wanted the folder of an encoder"):
        distil([collection], str(tmp_path / "nowhere" / "else"), out, SMALL)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c"]
    out.write_text("mine")
    with pytest.raises(OutputExistsError):
        distil([collection], str(encoder_at), out, SMALL)
    assert out.read_text() == "mine"
