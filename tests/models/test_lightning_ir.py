"""Models of lightning-ir have its scores, and what is not read is refused by name. Differences from lightning-ir itself: ``benchmarks/interop.py``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from positionbias.core.errors import InputError, SettingError
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.foreign import check_model_folder
from positionbias.models.protocols import PassageEncoder, Ranker, SingleVector
from positionbias.models.term_layers import term_encoder
from positionbias.ranking import cached

from .lightning import Reference, lightning
from .test_sbert import PAIRS, QUERIES, TEXTS, scores

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "mono": ("mono", {}),
    "mono, two logits": ("mono", {"scoring_strategy": "mono", "linear_bias": True, "pooling_strategy": "mean"}),
    "mono, max": ("mono", {"pooling_strategy": "max", "query_length": 3, "linear_bias": True}),
    "mono, pooler": ("mono", {"bert_pool": True}),
    "dpr": ("lir-dpr", {}),
    "dpr, mean, markers": (
        "lir-dpr",
        {"pooling_strategy": "mean", "projection": None, "normalization_strategy": "l2", "add_marker_tokens": True},
    ),
    "dpr, sum, sparse": ("lir-dpr", {"pooling_strategy": "sum", "sparsification_strategy": "relu_log"}),
    "dpr, cosine": ("lir-dpr", {"pooling_strategy": "max", "projection": "linear_no_bias", "similarity_function": "cosine"}),
    "col": ("col", {}),
    "colbert": (
        "col",
        {
            "query_expansion": True,
            "add_marker_tokens": True,
            "normalization_strategy": "l2",
            "doc_mask_scoring_tokens": "punctuation",
            "projection": "linear_no_bias",
        },
    ),
    "col, expanded": (
        "col",
        {
            "query_expansion": True,
            "attend_to_query_expanded_tokens": True,
            "doc_expansion": True,
            "query_mask_scoring_tokens": ["the", "gate"],
            "query_aggregation_function": "mean",
            "similarity_function": "cosine",
        },
    ),
    "col, aggregated": ("col", {"query_aggregation_function": "max", "doc_aggregation_function": "mean"}),
}


def close(expected: dict[tuple[str, str], float]) -> Any:
    return pytest.approx(expected, abs=1e-4, rel=1e-5)  # scores of up to 40 are sums of many products


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_those_of_lightning_ir_whatever_the_batches(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, settings = MODELS[name]
    folder = lightning(tmp_path / "lightning", kind, **settings)
    found, by_hand = load_checkpoint(check_model_folder(folder)), Reference(folder)
    expected = {(query, passage): by_hand.score(QUERIES[query], TEXTS[passage]) for query, passage in PAIRS}
    assert len({round(value, 4) for value in expected.values()}) > len(expected) / 2  # it tells pairs apart
    assert found.model.kind == {"mono": "cross-encoder", "lir-dpr": "bi-encoder", "col": "multi-vector"}[kind]
    assert isinstance(found.model, Ranker if kind == "mono" else PassageEncoder)
    assert isinstance(found.model, SingleVector) == (kind == "lir-dpr")
    assert scores(found.model) == close(expected)
    assert scores(found.model, tokens=1) == close(expected)
    monkeypatch.setattr(cached, "READ_PASSAGES", 2)
    monkeypatch.setattr(cached, "READ_QUERIES", 1)
    assert scores(found.model) == close(expected)


def changed(folder: Path, **settings: Any) -> Path:
    """The folder with other settings; those of None are taken out."""
    place = folder / "config.json"
    record = {**json.loads(place.read_text()), **settings}
    place.write_text(json.dumps({name: value for name, value in record.items() if value is not None}))
    return folder


def test_older_names_of_settings_mean_the_same(tmp_path: Path) -> None:
    newer = lightning(
        tmp_path / "newer", "lir-dpr", pooling_strategy="max", normalization_strategy="l2", sparsification_strategy="relu"
    )
    older = lightning(tmp_path / "older", "lir-dpr", pooling_strategy=None)
    changed(older, query_pooling_strategy="max", doc_pooling_strategy="max", normalize=True, sparsification="relu")
    assert scores(load_checkpoint(older).model) == scores(load_checkpoint(newer).model)
    cross = lightning(tmp_path / "cross", "mono")
    expected = scores(load_checkpoint(cross).model)
    assert scores(load_checkpoint(changed(cross, model_type="cross-encoder", scoring_strategy=None)).model) == expected


def test_lengths_left_open_are_the_tokenizers(tmp_path: Path) -> None:
    model: Any = load_checkpoint(lightning(tmp_path / "dpr", "lir-dpr", doc_length=None)).model
    assert model.room == 40 - 2
    model = load_checkpoint(lightning(tmp_path / "mono", "mono", doc_length=None)).model
    assert (model.room, len(model.read_queries(["the gate " * 9])[0]), len(model.read_passages(["gate " * 90])[0])) == (
        37,
        6,
        37,
    )


@pytest.mark.parametrize(
    ("kind", "settings", "found"),
    [
        ("mono", {"model_type": "set-encoder"}, "a model of type set-encoder, which reads a query's passages together"),
        ("col", {"model_type": "splade"}, "a model of type splade, which is not read here"),
        ("mono", {"backbone_model_type": "t5"}, "a t5, whose score comes from a decoder"),
        ("mono", {"backbone_model_type": "own"}, "backbone_model_type 'own', which transformers does not know"),
        ("lir-dpr", {"use_adapter": True}, "an adapter beside the encoder (use_adapter)"),
        ("lir-dpr", {"similarity_function": "l2"}, "Invalid enum value 'l2' - at `similarity_function`"),
        (
            "col",
            {"query_aggregation_function": "harmonic_mean"},
            "Invalid enum value 'harmonic_mean' - at `query_aggregation_function`",
        ),
        ("col", {"sparsification_strategy": "relu"}, "vectors of tokens without a projection, or made sparse"),
        ("col", {"query_length": 0}, "Expected `int` >= 1 - at `query_length`"),
    ],
)
def test_what_is_not_read_is_one_line(kind: str, settings: dict[str, Any], found: str, tmp_path: Path) -> None:
    folder = changed(lightning(tmp_path / "other", kind), **settings)
    with pytest.raises(InputError) as error:
        load_checkpoint(folder)
    wanted = "a model of lightning-ir of type mono, cross-encoder, lir-dpr, col, over an encoder"
    assert str(error.value) == f"{folder / 'config.json'}: wanted {wanted}; found {found}; give another model"


def test_damaged_weights_are_one_line(tmp_path: Path) -> None:
    folder = lightning(tmp_path / "col", "col")
    place = folder / "model.safetensors"
    whole = load_file(place)
    cases = {
        "wanted the tensor projection.weight; found none of this name": ("projection.weight", None),
        "wanted the tensor projection.bias; found none of this name": ("projection.bias", None),
        "wanted the tensors of such a model only; found also linear.weight": ("linear.weight", whole["projection.weight"]),
        "wanted projection.weight of shape (vector, 16); found shape (6, 15)": (
            "projection.weight",
            whole["projection.weight"][:, :15],
        ),
        "wanted projection.weight of shape (vector, 16); found shape (16,)": (
            "projection.weight",
            whole["projection.weight"][0],
        ),
        "found no tensor encoder.layer.1.output.dense.bias": ("encoder.layer.1.output.dense.bias", None),
    }
    for said, (name, tensor) in cases.items():
        kept = {key: value for key, value in whole.items() if key != name} | ({} if tensor is None else {name: tensor.clone()})
        save_file(kept, place)
        with pytest.raises(InputError) as error:
            load_checkpoint(folder)
        assert said in str(error.value)
    with pytest.raises(InputError, match=r"wanted a tokenizer with the token \[QUE\]; found none of this name"):
        load_checkpoint(changed(lightning(tmp_path / "unmarked", "lir-dpr"), add_marker_tokens=True))
    save_file(whole, place)
    for setting, found in {"hidden_size": 18, "vocab_size": 20}.items():
        with pytest.raises(InputError, match="found tensors of other shapes than config.json says; give another encoder"):
            load_checkpoint(changed(lightning(tmp_path / setting, "mono"), **{setting: found}))
    with pytest.raises(InputError, match="found Validation error for field 'hidden_size': TypeError: .*'16'"):
        load_checkpoint(changed(lightning(tmp_path / "text", "mono"), hidden_size="16"))
    (folder / "mask_scoring_tokens.json").write_text("{}")
    with pytest.raises(InputError, match="the form of a release before 0.0.4"):
        load_checkpoint(folder)


def test_they_are_not_trained_on_nor_taken_for_another_kind(tmp_path: Path) -> None:
    mono, dpr = lightning(tmp_path / "mono", "mono"), lightning(tmp_path / "dpr", "lir-dpr")
    for folder, kind in ((mono, "cross-encoder"), (dpr, "bi-encoder")):
        checkpoint = load_checkpoint(folder, kind)
        assert "lightning-ir" in checkpoint.manifest.notes[0]
        with pytest.raises(SettingError, match="--start: wanted a model that can be trained"):
            _ = checkpoint.ranker
    for kind in ("bi-encoder", "bert_cat", "mono_t5"):
        with pytest.raises(SettingError, match=f"--kind: wanted .* as {kind}; found a cross-encoder of lightning-ir"):
            load_checkpoint(mono, kind)


def test_the_probe_reads_its_encoders_states(tmp_path: Path) -> None:
    probe = term_encoder(load_checkpoint(lightning(tmp_path / "dpr", "lir-dpr")).model, "all")
    vectors = probe.term_vectors(probe.read_passages(["the iron gate"]))
    assert vectors.shape == (3, 1, 3, 16)
