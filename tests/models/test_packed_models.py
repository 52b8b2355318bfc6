"""Packed texts give the padded ones' states, scores and vectors, in every architecture; here with
attention text by text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from positionbias.models import packed_attention, packed_models
from positionbias.models.bert_cat import BertCat
from positionbias.models.bert_dot import BertDot
from positionbias.models.encoder import Encoder, open_encoder
from positionbias.models.packed import packed_encoder
from positionbias.models.packed_attention import packs_on
from positionbias.models.packed_models import packed_pairs, packed_vectors
from positionbias.models.shapes import BertCatConfig, BertDotConfig
from positionbias.models.token_rows import TokenRows, TokenSource

from .encoders import ARCHITECTURES, saved

PACKED = [name for name in ARCHITECTURES if name not in ("modernbert", "mpnet")]
QUERIES = ["what is the lamp", "", "iron gate"]
PASSAGES = [
    "green oil in the hall",
    "a stone",
    "",
    "water and iron and stone of the green gate in the hall of water",
]
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packed")


@pytest.fixture
def anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pack on this device too; attention goes text by text."""
    monkeypatch.setattr(packed_models, "packs_on", lambda device, dtype: True)


def encoder_of(folders: Path, architecture: str, *, classifier: bool = False) -> Encoder:
    place = folders / f"{architecture}{'-classifier' * classifier}"
    return open_encoder(
        place if place.exists() else saved(architecture, place, classifier=classifier),
        classifier=classifier,
    )


@pytest.mark.parametrize("architecture", PACKED)
def test_states_of_single_texts(folders: Path, architecture: str) -> None:
    encoder = encoder_of(folders, architecture).eval()
    rows = encoder.read(PASSAGES, 40)
    packed = packed_encoder(encoder.backbone, torch.float32)
    assert packed is not None
    order = np.array([2, 0, 3, 1, 0])
    source = TokenSource(encoder.template, [TokenRows.of(rows)], CPU)
    batch = source.pack([order], [TokenRows.of(rows).lengths[order]])
    with torch.no_grad():
        given = encoder.assemble([rows[place] for place in order], limit=60)
        whole = encoder.backbone(**given).last_hidden_state
    lengths = given["attention_mask"].sum(dim=1).tolist()
    assert batch.offsets.diff().tolist() == lengths
    assert batch.longest == max(lengths)
    assert len(batch) == 5
    expected = torch.cat([states[:length] for states, length in zip(whole, lengths, strict=True)])
    assert (packed.states(batch) - expected).abs().max() < 1e-5
    assert torch.allclose(packed.cls(batch), whole[:, 0], atol=1e-5)
    assert whole.std() > 0.1


@pytest.mark.parametrize("head", ["linear", "relevance", "transformers"])
@pytest.mark.parametrize("architecture", PACKED)
@pytest.mark.usefixtures("anywhere")
def test_scores_of_pairs(folders: Path, architecture: str, head: Any) -> None:
    torch.manual_seed(1)
    config = BertCatConfig(pair_length=16, head=head)  # short, so that pairs are cut
    model = BertCat(
        config, encoder_of(folders, architecture, classifier=head == "transformers")
    ).eval()
    queries, passages = model.read_queries(QUERIES), model.read_passages(PASSAGES)
    asked, places = np.array([0, 0, 1, 2, 2, 0]), np.array([3, 0, 1, 2, 3, 2])
    # with gradients the padded texts go through transformers' own modules
    expected = model(
        **model.inputs([queries[i] for i in asked], [passages[i] for i in places])
    ).detach()
    packed = packed_pairs(model, torch.float32)
    assert packed is not None
    rows = TokenRows.of(queries), TokenRows.of(passages)
    batch = packed.batch(
        packed.source(*rows), asked, places, (rows[0].lengths[asked], rows[1].lengths[places])
    )
    assert batch.longest == 16
    assert torch.allclose(packed.scores(batch), expected, atol=1e-5)
    assert expected.std() > 1e-3


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.usefixtures("anywhere")
def test_vectors(folders: Path, pooling: Any) -> None:
    model = BertDot(
        BertDotConfig(passage_length=16, pooling=pooling, normalize=True),
        encoder_of(folders, "bert"),
    ).eval()
    rows = model.read_passages(PASSAGES)
    expected = model.encode_passages(rows)[0].detach()
    packed, texts, order = (
        packed_vectors(model, torch.float32),
        TokenRows.of(rows),
        np.array([3, 1, 0, 2]),
    )
    assert packed is not None
    found = packed.encode(packed.source(texts), order, texts.lengths[order])
    assert torch.allclose(found, expected[order, 0], atol=1e-6)


def test_only_where_it_is_exact(folders: Path) -> None:
    assert packed_encoder(encoder_of(folders, "modernbert").backbone, torch.float32) is None
    assert not packs_on(CPU, torch.bfloat16)
    model = BertCat(BertCatConfig(pair_length=24), encoder_of(folders, "bert"))
    assert packed_pairs(model, torch.bfloat16) is None  # on a CPU


def test_torch_has_the_attention_that_a_gpu_takes() -> None:
    from inspect import signature

    flash = packed_attention._flash()
    assert flash is not None
    named = list(signature(flash).parameters)[:7]
    assert named == ["query", "key", "value", "cu_seq_q", "cu_seq_k", "max_q", "max_k"]
