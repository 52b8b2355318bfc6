"""Prompts are those that are given, else those that sentence-transformers itself puts before
texts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from positionbias.core.errors import DependencyError, SettingError
from positionbias.models import prompts as module
from positionbias.models.bert_dot import BertDot
from positionbias.models.checkpoint import load_checkpoint, shape_of
from positionbias.models.prompts import Prompts
from positionbias.models.sbert_encoders import BiEncoder
from positionbias.ranking.config import Computing

from .encoders import saved
from .library import QUIET, bi_encoder, cross_encoder, kept, pooling, transformer
from .test_reading import set_json
from .test_sbert import PAIRS, QUERIES, TEXTS, close, scores, similar

PROMPTS: dict[str, tuple[dict[str, Any], tuple[str, str]]] = {
    # what sentence-transformers 6.2 does: its encode_document takes "document", which it adds
    # empty, before "passage"
    "query and passage": (
        {"prompts": {"query": "what is ", "passage": "the hall "}},
        ("what is ", ""),
    ),
    "query and document": (
        {"prompts": {"query": "what is ", "document": "the hall "}},
        ("what is ", "the hall "),
    ),
    "a default": ({"prompts": {"other": "in the "}, "default_prompt_name": "other"}, ("", "")),
    "none": ({}, ("", "")),
}


def two_tower(folder: Path, mode: str, **facts: Any) -> Path:
    modules = [transformer(folder / "tiny", max_seq_length=14), pooling(mode)]
    place = kept(bi_encoder(modules=modules), folder / "saved")
    set_json(place / "config_sentence_transformers.json", **{"prompts": {}, **facts})
    return place


@pytest.mark.parametrize("mode", ["mean", "max"])  # by ours, and by the library
@pytest.mark.parametrize("name", PROMPTS)
def test_what_the_library_does_whatever_the_pooling(name: str, mode: str, tmp_path: Path) -> None:
    facts, used = PROMPTS[name]
    place = two_tower(tmp_path, mode, **facts)
    found = load_checkpoint(place)
    assert isinstance(found.model, BertDot if mode == "mean" else BiEncoder)
    assert scores(found.model) == close(similar(bi_encoder(str(place))))
    shape = shape_of(found.model)
    assert (shape["query_prompt"], shape["passage_prompt"]) == used
    assert Prompts(*used).note() in found.manifest.notes


@pytest.mark.parametrize("mode", ["mean", "max"])
def test_given_prompts_replace_those_of_the_files(mode: str, tmp_path: Path) -> None:
    place = two_tower(tmp_path, mode, prompts={"query": "what is ", "document": "the hall "})
    found = Computing(query_prompt="iron gate ", passage_prompt="").load(place)
    model = bi_encoder(str(place))
    queries = model.encode(
        [QUERIES[query_id] for query_id, _ in PAIRS], prompt="iron gate ", **QUIET
    )
    passages = model.encode([TEXTS[passage_id] for _, passage_id in PAIRS], prompt="", **QUIET)
    expected = dict(
        zip(PAIRS, map(float, model.similarity_pairwise(queries, passages)), strict=True)
    )
    assert scores(found.model) == close(expected)
    assert "'iron gate ' stands before each query, '' before each passage" in found.manifest.notes


def test_prompts_in_files_need_the_library_or_both_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = two_tower(tmp_path, "mean", prompts={"query": "what is "})
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(
        DependencyError,
        match="is not installed: give --query-prompt and --passage-prompt, or run pip install",
    ):
        load_checkpoint(place)
    found = load_checkpoint(place, prompts=Prompts("a ", ""))
    assert shape_of(found.model)["query_prompt"] == "a "


def test_a_cross_encoder_with_prompts(tmp_path: Path) -> None:
    place = saved("bert", tmp_path / "cat", classifier=True)
    found = load_checkpoint(place, prompts=Prompts("what is ", "the hall "))
    pairs = [
        (f"what is {QUERIES[query_id]}", f"the hall {TEXTS[passage_id]}")
        for query_id, passage_id in PAIRS
    ]
    given = cross_encoder(str(place)).predict(pairs, activation_fn=torch.nn.Identity(), **QUIET)
    assert scores(found.model) == close(dict(zip(PAIRS, map(float, given), strict=True)))


def test_a_users_encoder_with_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lettercode.py").write_text(
        "def encode(texts):\n    return [[len(text), text.count('a')] for text in texts]\n"
    )
    monkeypatch.chdir(tmp_path)
    model: Any = load_checkpoint("lettercode:encode", prompts=Prompts("ab", None)).model
    assert model.encode_queries(model.read_queries(["ca"]))[0].tolist() == [[[4.0, 2.0]]]
    assert model.encode_passages(model.read_passages(["ca"]))[0].tolist() == [[[2.0, 1.0]]]


def test_no_prompts_for_a_users_scorer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "two.py").write_text(
        "def score(query, passages):\n    return [0.0 for _ in passages]\n"
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        SettingError, match="two:score, of kind function, takes no prompts; leave them out"
    ):
        load_checkpoint("two:score", prompts=Prompts("a"))


# -- labels ----------------------------------------------------------------------------------------


def two_labels(folder: Path, *names: str) -> Path:
    place = saved("bert", folder / "two", classifier=True, labels=len(names))
    numbered = dict(enumerate(names))
    set_json(
        place / "config.json",
        id2label=numbered,
        label2id={name: number for number, name in numbered.items()},
    )
    return place


@pytest.mark.parametrize("label", ["irrelevant", "relevant"])
def test_the_score_of_a_label_is_its_log_probability(label: str, tmp_path: Path) -> None:
    place = two_labels(tmp_path, "irrelevant", "relevant")
    found = load_checkpoint(place, label=label)
    logits = cross_encoder(str(place)).predict(
        [(QUERIES[query_id], TEXTS[passage_id]) for query_id, passage_id in PAIRS],
        activation_fn=torch.nn.Identity(),
        **QUIET,
    )
    # log p(a) = a − log(exp a + exp b)
    column = ["irrelevant", "relevant"].index(label)
    expected = torch.tensor(logits).double()
    by_hand = expected[:, column] - expected.exp().sum(dim=1).log()
    assert scores(found.model) == close(dict(zip(PAIRS, by_hand.tolist(), strict=True)))
    assert shape_of(found.model)["label"] == label


def test_a_label_is_asked_for_and_never_guessed(tmp_path: Path) -> None:
    place = two_labels(tmp_path, "LABEL_0", "LABEL_1")
    asked = (
        "this cross-encoder has 2 labels, LABEL_0, LABEL_1: name the one to rank by with "
        "--score-label"
    )
    with pytest.raises(SettingError, match=asked):
        load_checkpoint(place)
    with pytest.raises(
        SettingError, match="LABEL_0, LABEL_1; 'relevant' is none of them: name the one"
    ):
        load_checkpoint(place, label="relevant")
    single = saved("bert", tmp_path / "single", classifier=True)
    with pytest.raises(
        SettingError, match="--score-label: single has a single score; leave it out"
    ):
        load_checkpoint(single, label="LABEL_0")
