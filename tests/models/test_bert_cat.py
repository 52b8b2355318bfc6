"""BERT_CAT scores as plain transformers does on the same weights; padding and order change
nothing.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from positionbias.core.errors import InputError, SettingError
from positionbias.models.bert_cat import BertCat
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.encoder import load_encoder, open_encoder
from positionbias.models.shapes import BertCatConfig, Head
from positionbias.models.tensors import load_tensors, save_tensors

from ..tiny import tiny_encoder
from .encoders import ARCHITECTURES, saved

QUERIES = ["what is the lamp", "the iron gate of the hall"]
PASSAGES = [
    "The lamp of Orvell burns green oil.",
    "a gate",
    "Water, stone " * 9,
    "the green hall and the iron gate",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> BertCat:
    encoder = load_encoder(tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny"))
    torch.manual_seed(5)
    return BertCat(BertCatConfig(pair_length=30), encoder).eval()


def scores(model: BertCat, queries: list[str], passages: list[str]) -> torch.Tensor:
    with torch.no_grad():
        return model(**model.inputs(model.read_queries(queries), model.read_passages(passages)))


@pytest.mark.parametrize("architecture", ["bert", "distilbert", "electra", "roberta", "modernbert"])
def test_scores_are_those_of_plain_transformers(architecture: str, tmp_path: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    place = saved(architecture, tmp_path / architecture)
    model = BertCat(BertCatConfig(pair_length=30), load_encoder(place)).eval()
    plain, tokenizer = AutoModel.from_pretrained(place).eval(), AutoTokenizer.from_pretrained(place)
    pairs = [QUERIES[index % 2] for index in range(4)]
    given = tokenizer(
        pairs,
        PASSAGES,
        truncation="longest_first",
        max_length=30,
        padding=True,
        return_tensors="pt",
    )
    if architecture == "distilbert":
        given.pop("token_type_ids")
    assert model.head is not None
    with torch.no_grad():
        wanted = (plain(**given).last_hidden_state[:, 0] @ model.head.weight.T + model.head.bias)[
            :, 0
        ]
    found = scores(model, QUERIES, PASSAGES)
    assert torch.allclose(found, wanted, atol=1e-5)
    assert found.std() > 0.01


def test_empty_sides_score_finitely(model: BertCat) -> None:
    found = scores(model, ["", "gate"], ["", "", "lamp", ""])
    assert found.isfinite().all()
    assert found.shape == (4,)
    assert model.read_passages([""]) == [[]]


def test_long_pairs_are_cut_longest_first(model: BertCat) -> None:
    made = model.inputs(
        model.read_queries(["gate " * 5, "gate " * 40]), model.read_passages(["lamp " * 40] * 2)
    )
    assert made["input_ids"].shape == (2, 30)
    types = made["token_type_ids"].sum(dim=1)
    # [CLS] 5 [SEP] 22 [SEP]: 22 + 1; of 27 to share, the second keeps 14 of equals: 14 + 1
    assert types.tolist() == [23, 15]


@pytest.mark.parametrize("architecture", ["bert", "distilbert", "electra", "roberta", "modernbert"])
def test_a_sequence_classifier_s_head_is_kept(architecture: str, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    place = saved(architecture, tmp_path / "first", classifier=True)
    model = BertCat(
        BertCatConfig(30, head="transformers"), open_encoder(place, classifier=True)
    ).eval()
    model.save(tmp_path / "again")
    again = BertCat.load(tmp_path / "again", asdict(model.config)).eval()
    found = scores(model, QUERIES, PASSAGES)
    assert torch.equal(scores(again, QUERIES, PASSAGES), found)
    plain = AutoModelForSequenceClassification.from_pretrained(tmp_path / "again").eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "again")
    given = tokenizer(
        QUERIES * 2,
        PASSAGES,
        truncation="longest_first",
        max_length=30,
        padding=True,
        return_tensors="pt",
    )
    if architecture == "distilbert":
        given.pop("token_type_ids")
    with torch.no_grad():
        assert torch.allclose(found, plain(**given).logits[:, 0], atol=1e-5)


@pytest.mark.parametrize("architecture", ["bert", "distilbert", "roberta"])
def test_a_relevance_head_scores_by_the_log_probability(architecture: str, tmp_path: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    place = saved(architecture, tmp_path / architecture)
    torch.manual_seed(5)
    model = BertCat(BertCatConfig(pair_length=30, head="relevance"), load_encoder(place)).eval()
    assert model.head is not None
    assert (model.config.log_probabilities, model.head.weight.shape) == (True, (2, 16))
    plain, tokenizer = AutoModel.from_pretrained(place).eval(), AutoTokenizer.from_pretrained(place)
    given = tokenizer(
        QUERIES * 2,
        PASSAGES,
        truncation="longest_first",
        max_length=30,
        padding=True,
        return_tensors="pt",
    )
    if architecture == "distilbert":
        given.pop("token_type_ids")
    with torch.no_grad():
        logits = plain(**given).last_hidden_state[:, 0] @ model.head.weight.T + model.head.bias
    found = scores(model, QUERIES, PASSAGES)
    assert torch.allclose(found, logits.log_softmax(dim=1)[:, 1], atol=1e-5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = scores(model, QUERIES, PASSAGES)
    assert half.dtype == torch.float32
    assert torch.allclose(half, found, atol=0.1)
    model.save(tmp_path / "again")
    again = BertCat.load(tmp_path / "again", asdict(model.config)).eval()
    assert torch.equal(scores(again, QUERIES, PASSAGES), found)


def test_a_head_of_one_row_is_no_relevance_head(model: BertCat, tmp_path: Path) -> None:
    model.save(tmp_path / "cat")
    with pytest.raises(InputError, match="posbias.json: wanted a head of 2 outputs; found 1"):
        BertCat.load(tmp_path / "cat", {**asdict(model.config), "head": "relevance"})


@pytest.mark.parametrize("head", ["linear", "relevance"])
@pytest.mark.parametrize("architecture", sorted(set(ARCHITECTURES) - {"modernbert"}))
def test_it_is_saved_as_a_sequence_classifier(
    architecture: str, head: Head, tmp_path: Path
) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(5)
    model = BertCat(
        BertCatConfig(30, head=head), load_encoder(saved(architecture, tmp_path / "first"))
    ).eval()
    model.save(tmp_path / "cat")
    config = json.loads((tmp_path / "cat" / "config.json").read_text())
    assert config["architectures"] == [
        type(model.encoder.model).__name__.replace("Model", "ForSequenceClassification")
    ]
    plain, told = AutoModelForSequenceClassification.from_pretrained(
        tmp_path / "cat", output_loading_info=True
    )
    assert not any(told.values())  # no tensor is missing, left over or of another shape
    assert plain.config.num_labels == (1 if head == "linear" else 2)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "cat")
    given = tokenizer(QUERIES * 2, PASSAGES, truncation=True, padding=True, return_tensors="pt")
    if architecture == "distilbert":
        given.pop("token_type_ids")
    with torch.no_grad():
        logits = plain.eval()(**given).logits
        half = plain.half()(**given).logits.float()
    found = scores(model, QUERIES, PASSAGES)
    assert torch.allclose(
        logits[:, 0] if head == "linear" else logits.log_softmax(dim=1)[:, 1], found, atol=1e-5
    )
    assert torch.allclose(half, logits, atol=0.02)


@pytest.mark.parametrize("ours", [True, False], ids=["ours", "another's"])
def test_a_head_that_is_gone(ours: bool, model: BertCat, tmp_path: Path) -> None:
    place = tmp_path / "cat"
    model.save(place)
    tensors = load_tensors(place / "model.safetensors")
    save_tensors(
        place / "model.safetensors",
        {k: v for k, v in tensors.items() if not k.startswith("classifier")},
    )
    with pytest.raises(InputError, match="no tensor .*classifier.bias, classifier.weight; give"):
        BertCat.load(place, asdict(model.config)) if ours else load_checkpoint(place)


def test_a_pair_longer_than_the_positions_is_refused(model: BertCat) -> None:
    with pytest.raises(
        SettingError,
        match="--pair-length: wanted at most 256, the positions of this encoder; found 300",
    ):
        BertCat(BertCatConfig(pair_length=300), model.encoder)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_saved_and_loaded_it_is_the_same(architecture: str, tmp_path: Path) -> None:
    model = BertCat(
        BertCatConfig(pair_length=30), load_encoder(saved(architecture, tmp_path / "first"))
    ).eval()
    model.save(tmp_path / "again")
    again = BertCat.load(tmp_path / "again", asdict(model.config)).eval()
    assert again.config == model.config
    assert torch.equal(scores(again, QUERIES, PASSAGES), scores(model, QUERIES, PASSAGES))
    again.save(tmp_path / "third")  # and the same bytes once more
    for item in (tmp_path / "again").rglob("*.*"):
        if item.is_file():
            assert (
                tmp_path / "third" / item.relative_to(tmp_path / "again")
            ).read_bytes() == item.read_bytes(), item.name
