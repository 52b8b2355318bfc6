"""monoT5 scores as plain transformers does on the same weights; padding and order change
nothing.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import Manifest
from positionbias.models.checkpoint import load_checkpoint, save_checkpoint
from positionbias.models.mono_t5 import MonoT5, load_t5
from positionbias.models.shapes import MonoT5Config

from ..tiny import tiny_encoder
from .t5 import WORDS, saved_t5, t5_tokenizer

QUERIES = ["what is the lamp", "the iron gate of the hall"]
PASSAGES = [
    "The lamp of Orvell burns green oil.",
    "a gate",
    "Water, stone " * 9,
    "the green hall and the iron gate",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_t5(tmp_path_factory.mktemp("t5") / "tiny")


@pytest.fixture(scope="module")
def model(folder: Path) -> MonoT5:
    return MonoT5(MonoT5Config(pair_length=200), load_t5(folder)).eval()


def scores(model: MonoT5, queries: list[str], passages: list[str]) -> torch.Tensor:
    with torch.no_grad():
        return model(**model.inputs(model.read_queries(queries), model.read_passages(passages)))


def plain_scores(folder: Path, pairs: list[tuple[str, str]]) -> torch.Tensor:
    """As the paper says it, by transformers alone: one text a pair, one step of the decoder."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    t5, tokenizer = (
        AutoModelForSeq2SeqLM.from_pretrained(folder).eval(),
        AutoTokenizer.from_pretrained(folder),
    )
    texts = [f"Query: {query} Document: {passage.strip()} Relevant:" for query, passage in pairs]
    given = tokenizer(texts, padding=True, return_tensors="pt")
    start = torch.full((len(pairs), 1), t5.config.decoder_start_token_id)
    answers = [tokenizer.encode(word, add_special_tokens=False)[0] for word in ("false", "true")]
    with torch.no_grad():
        logits = t5(
            input_ids=given["input_ids"],
            attention_mask=given["attention_mask"],
            decoder_input_ids=start,
        ).logits
    return logits[:, 0, answers].log_softmax(dim=1)[:, 1]


@pytest.mark.parametrize("version", ["t5", "mt5", "umt5"])
def test_scores_are_those_of_plain_transformers(version: str, tmp_path: Path) -> None:
    place = saved_t5(tmp_path / "t5", version=version)
    model = MonoT5(MonoT5Config(pair_length=200), load_t5(place)).eval()
    found = scores(model, QUERIES, PASSAGES)
    wanted = plain_scores(
        place, [(QUERIES[index % 2], passage) for index, passage in enumerate(PASSAGES)]
    )
    assert torch.allclose(found, wanted, atol=1e-5)
    assert found.std() > 0.01
    assert (found < 0).all()
    model.save(tmp_path / "again")
    again = MonoT5.load(tmp_path / "again", asdict(model.config)).eval()
    assert again.config == model.config
    assert torch.equal(scores(again, QUERIES, PASSAGES), found)
    assert torch.allclose(
        plain_scores(tmp_path / "again", [(QUERIES[0], PASSAGES[0])]), found[:1], atol=1e-5
    )


@given(order=st.permutations(range(4)), size=st.integers(1, 4))
def test_padding_and_batch_order_change_nothing(model: MonoT5, order: list[int], size: int) -> None:
    whole = scores(model, ["what is the lamp"], PASSAGES)
    for start in range(0, 4, size):
        batch = order[start : start + size]
        found = scores(model, ["what is the lamp"], [PASSAGES[index] for index in batch])
        assert torch.allclose(found, whole[batch], atol=1e-5)


def test_what_it_reads(model: MonoT5) -> None:
    made = model.inputs(model.read_queries([" what is \n"]), model.read_passages(["the lamp", ""]))
    numbers = {word: 3 + place for place, word in enumerate(WORDS)}
    said = [
        [numbers[word] for word in ("Query:", "what", "is", "Document:", *rest, "Relevant:")]
        for rest in (("the", "lamp"), ())
    ]
    assert made["input_ids"].tolist() == [[*said[0], 1], [*said[1], 1, 0, 0]]
    assert made["attention_mask"].tolist() == [[1] * 8, [1] * 6 + [0] * 2]


def test_the_passage_is_what_is_cut(folder: Path) -> None:
    model = MonoT5(MonoT5Config(pair_length=12), load_t5(folder))
    made = model.inputs(
        model.read_queries(["gate " * 5, "gate " * 50]), model.read_passages(["lamp " * 50] * 2)
    )
    gate, lamp = 3 + WORDS.index("gate"), 3 + WORDS.index("lamp")
    counts = [((row == gate).sum().item(), (row == lamp).sum().item()) for row in made["input_ids"]]
    assert made["input_ids"].shape == (2, 12)
    assert counts == [(5, 3), (8, 0)]  # eight between the four that frame them
    assert (made["input_ids"][:, -2:] == torch.tensor([3 + WORDS.index("Relevant:"), 1])).all()


def test_words_of_several_pieces_count_by_their_first(tmp_path: Path) -> None:
    # without the words themselves "▁true" is ▁ t r u e, and "▁false" ▁ f a l s e: both begin with ▁
    spelt = t5_tokenizer([word for word in WORDS if word not in ("true", "false")])
    with pytest.raises(
        InputError,
        match=(
            'wanted a T5 .*; found a tokenizer that begins "true" and "false" alike; give another'
        ),
    ):
        load_t5(saved_t5(tmp_path / "spelt", tokenizer=spelt))
    halves = t5_tokenizer([*(word for word in WORDS if word not in ("true", "false")), "tr", "fal"])
    place = saved_t5(tmp_path / "halves", tokenizer=halves)
    t5 = load_t5(place)
    assert t5.tokenizer.convert_ids_to_tokens(t5.answers) == ["▁fal", "▁tr"]
    found = scores(MonoT5(MonoT5Config(), t5).eval(), QUERIES[:1], PASSAGES[:1])
    assert torch.allclose(found, plain_scores(place, [(QUERIES[0], PASSAGES[0])]), atol=1e-5)


# -- checkpoints -----------------------------------------------------------------------------------


def test_a_checkpoint_keeps_shared_weights_once(model: MonoT5, tmp_path: Path) -> None:
    save_checkpoint(
        tmp_path / "m.ckpt",
        model,
        depth=None,
        training={},
        manifest=Manifest(kind="checkpoint", name="m", command="t"),
    )
    loaded = load_checkpoint(tmp_path / "m.ckpt")
    assert loaded.depth is None
    assert isinstance(loaded.model, MonoT5)
    assert torch.equal(scores(loaded.model, QUERIES, PASSAGES), scores(model, QUERIES, PASSAGES))
    weights = loaded.model.t5.model
    assert weights.lm_head.weight is weights.shared.weight
    facts = json.loads((tmp_path / "m.ckpt" / "posbias.json").read_text())
    assert facts == {"kind": "mono_t5", "depth": None, "shape": {"pair_length": 200}}


def test_a_t5_of_others_is_one_if_it_is_said_to_be(folder: Path, model: MonoT5) -> None:
    found = load_checkpoint(folder, "mono_t5")
    assert isinstance(found.model, MonoT5)
    assert found.model.config.pair_length == 512
    assert torch.equal(scores(found.model, QUERIES, PASSAGES), scores(model, QUERIES, PASSAGES))
    assert "log-probability of true" in found.manifest.notes[0]
    with pytest.raises(
        InputError,
        match="found a T5, which does not say what it was trained for; give --kind mono_t5 if",
    ):
        load_checkpoint(folder)


def _without(name: str) -> Any:
    def damage(place: Path) -> None:
        (place / name).unlink()

    return damage


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (_without("model.safetensors"), "found no weights"),
        (_without("config.json"), "found no config.json"),
        (
            lambda place: (place / "model.safetensors").write_bytes(b"x"),
            "wanted a T5 with its tokenizer; found",
        ),
    ],
)
def test_a_damaged_folder_is_one_line(tmp_path: Path, damage: Any, complaint: str) -> None:
    place = saved_t5(tmp_path / "t5")
    damage(place)
    with pytest.raises(InputError, match=complaint) as stop:
        load_t5(place)
    assert "\n" not in str(stop.value)


def test_another_model_is_no_t5(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="wanted a T5 with its tokenizer") as stop:
        load_t5(tiny_encoder(tmp_path / "bert"))
    assert "\n" not in str(stop.value)


def test_a_pair_that_has_no_room_for_its_frame_is_refused(folder: Path) -> None:
    with pytest.raises(SettingError, match="--pair-length: wanted at least 6 .*; found 5"):
        MonoT5(MonoT5Config(pair_length=5), load_t5(folder))
