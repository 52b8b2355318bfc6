"""What a tokenizer's own call gives is what a model reads: on either side, alone or in pairs, with
all of its settings.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from positionbias.core.errors import InputError
from positionbias.core.run import Run
from positionbias.models.bert_cat import BertCat
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.encoder import load_encoder, quiet_transformers
from positionbias.models.protocols import Ranker, cut_side
from positionbias.models.shapes import BertCatConfig

from ..tiny import tiny_encoder
from .encoders import SHAPE, saved
from .library import bi_encoder, cross_encoder, kept, pooling, theirs, transformer
from .test_sbert import TEXTS, close, predicted, scores, similar


def set_json(path: Path, **settings: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))


def two_tower(folder: Path, mode: str = "mean", **settings: Any) -> Path:
    """A bi-encoder of sentence-transformers that reads 12 tokens."""
    modules = [transformer(folder / "tiny", max_seq_length=12, **settings), pooling(mode)]
    return kept(bi_encoder(modules=modules, prompts={"query": "what is "}), folder / "saved")


def capitals(folder: Path) -> Path:
    """One that lower-cases before a tokenizer that does not."""
    place = two_tower(folder)
    set_json(place / "sentence_bert_config.json", do_lower_case=True)
    core = json.loads((place / "tokenizer.json").read_text())
    (place / "tokenizer.json").write_text(json.dumps({**core, "normalizer": None}))
    return place


def with_tokenizer(place: Path, **settings: Any) -> Path:
    set_json(place / "tokenizer_config.json", **settings)
    return place


def with_loading(place: Path, **settings: Any) -> Path:
    set_json(place / "sentence_bert_config.json", processor_kwargs=settings)
    return place


def older_name(place: Path) -> Path:
    (place / "sentence_bert_config.json").rename(place / "sentence_roberta_config.json")
    return place


BI_ENCODERS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "right": (two_tower, "right"),
    "left": (lambda folder: with_tokenizer(two_tower(folder), truncation_side="left"), "left"),
    "left, first token": (
        lambda folder: with_tokenizer(two_tower(folder, "cls"), truncation_side="left"),
        "left",
    ),
    "left by the module's settings": (
        lambda folder: with_loading(two_tower(folder), truncation_side="left"),
        "left",
    ),
    "shorter by the module's settings": (
        lambda folder: with_loading(two_tower(folder), model_max_length=9),
        "right",
    ),
    "lower-cased before": (capitals, "right"),
    "an older name": (lambda folder: older_name(two_tower(folder)), "right"),
}


@pytest.mark.parametrize("name", BI_ENCODERS)
def test_a_bi_encoder_reads_what_the_library_does(name: str, tmp_path: Path) -> None:
    make, side = BI_ENCODERS[name]
    place = make(tmp_path)
    found = load_checkpoint(place)
    assert scores(found.model) == close(similar(bi_encoder(str(place))))
    assert cut_side(found.model) == side
    front, end = "stone " + TEXTS["a"], TEXTS["a"] + " stone"
    with torch.no_grad():
        plain, at_front, at_end = found.model.encode_passages(
            found.model.read_passages([TEXTS["a"], front, end])
        )[0]
    unread = at_front if side == "left" else at_end  # a word beyond the limit changes nothing
    assert torch.allclose(plain, unread, atol=1e-6)
    assert not torch.allclose(plain, at_end if side == "left" else at_front, atol=1e-3)


@pytest.mark.parametrize("side", ["left", "right"])
# 9 and 12 tokens of text: an odd and an even number for two
@pytest.mark.parametrize("limit", [12, 15])
def test_a_cross_encoder_cuts_pairs_as_the_library_does(
    side: str, limit: int, tmp_path: Path
) -> None:
    place = saved("bert", tmp_path / "cat", classifier=True)
    set_json(place / "tokenizer_config.json", truncation_side=side, model_max_length=limit)
    found = load_checkpoint(place)
    assert isinstance(found.model, Ranker) is (side == "right")
    assert scores(found.model) == close(predicted(cross_encoder(str(place))))
    assert cut_side(found.model) == side


def test_the_longer_text_of_a_pair_keeps_the_odd_token(tmp_path: Path) -> None:
    """Of 60 and 30 tokens in a pair of 12 with 3 special ones, the query keeps 5 and the passage 4,
    in the tokenizers library too.
    """
    model = BertCat(BertCatConfig(pair_length=12), load_encoder(tiny_encoder(tmp_path / "tiny")))
    query, passage = "iron " * 60, "gate " * 30
    numbers = model.inputs(model.read_queries([query]), model.read_passages([passage]))[
        "input_ids"
    ][0].tolist()
    iron, gate = model.encoder.tokenizer.convert_tokens_to_ids(["iron", "gate"])
    assert (numbers.count(iron), numbers.count(gate)) == (5, 4)
    assert (
        numbers
        == model.encoder.tokenizer(query, passage, truncation="longest_first", max_length=12)[
            "input_ids"
        ]
    )


def test_padding_that_moves_positions_is_refused(tmp_path: Path) -> None:
    place = with_tokenizer(two_tower(tmp_path, "lasttoken"), padding_side="left")
    with pytest.raises(
        InputError,
        match="depend on the other texts in a batch; found a tokenizer that pads on the left",
    ):
        load_checkpoint(place)


# -- decoders --------------------------------------------------------------------------------------


def decoder_tokenizer(begins: str, **settings: Any) -> Any:
    """Pieces of bytes, as decoders have, with no special token around a text, or one before it."""
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces = {
        "special_tokens": ["<s>"],
        "initial_alphabet": pre_tokenizers.ByteLevel.alphabet(),
        "show_progress": False,
    }
    core.train_from_iterator(TEXTS.values(), trainers.BpeTrainer(vocab_size=300, **pieces))
    if begins:
        core.post_processor = processors.TemplateProcessing(
            single=f"{begins} $A", pair=f"{begins} $A {begins} $B", special_tokens=[(begins, 0)]
        )
    special = {"pad_token": "<s>", "unk_token": "<s>", "bos_token": "<s>", "eos_token": "<s>"}
    return PreTrainedTokenizerFast(
        tokenizer_object=core, model_max_length=24, **special, **settings
    )


def decoder(folder: Path, family: str, begins: str, *, scored: bool, **settings: Any) -> Path:
    """A decoder with random weights, with the head of a classifier of one label or bare."""
    import transformers

    torch.manual_seed(6)
    shape = {
        **SHAPE,
        "vocab_size": 300,
        "max_position_embeddings": 64,
        "num_key_value_heads": 2,
        "pad_token_id": 0,
    }
    config = getattr(transformers, f"{family}Config")(**shape, num_labels=1)
    with quiet_transformers():
        getattr(transformers, f"{family}{'ForSequenceClassification' if scored else 'Model'}")(
            config
        ).save_pretrained(folder)
        decoder_tokenizer(begins, **settings).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(("family", "begins"), [("Qwen2", ""), ("Llama", "<s>")])
@pytest.mark.parametrize("sides", [("left", "right"), ("right", "left")])
def test_a_decoder_with_a_score_head(
    family: str, begins: str, sides: tuple[str, str], tmp_path: Path
) -> None:
    place = decoder(
        tmp_path / "d", family, begins, scored=True, padding_side=sides[0], truncation_side=sides[1]
    )
    found = load_checkpoint(place)
    expected = predicted(cross_encoder(str(place)))
    assert scores(found.model) == close(expected)
    assert len({round(score, 4) for score in expected.values()}) > len(expected) / 2
    assert cut_side(found.model) == sides[1]


def test_a_decoder_with_left_padding_and_its_last_token(tmp_path: Path) -> None:
    from sentence_transformers.base.modules import Transformer

    place = decoder(tmp_path / "d", "Qwen2", "", scored=False, padding_side="left")
    with quiet_transformers():
        model = theirs.SentenceTransformer(
            modules=[Transformer(str(place)), pooling("lasttoken")], device="cpu"
        )
    saved_place = kept(model, tmp_path / "saved")
    # an empty text has no last token
    passages = {name: text for name, text in TEXTS.items() if text}
    run = Run("bm25", [("q1", list(passages), [4, 3, 2, 1])])
    vectors = model.encode_document(list(passages.values()), convert_to_tensor=True)
    expected = model.similarity(
        model.encode_query("what is the lamp", convert_to_tensor=True), vectors
    )[0].tolist()
    given = scores(load_checkpoint(saved_place).model, run, {"q1": "what is the lamp"})
    assert given == close(
        {("q1", name): score for name, score in zip(passages, expected, strict=True)}
    )
