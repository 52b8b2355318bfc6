"""ColBERT is the sum over a query's terms of their best match, of the vectors that plain
transformers gives; padding matches nothing.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import Manifest
from positionbias.models.checkpoint import load_checkpoint, save_checkpoint
from positionbias.models.colbert import ColBERT
from positionbias.models.encoder import load_encoder
from positionbias.models.protocols import PassageEncoder
from positionbias.models.shapes import ColBERTConfig
from positionbias.models.term_layers import WordPieces, term_encoder

from ..tiny import tiny_encoder
from .encoders import saved

QUERIES = ["what is the lamp", "the iron gate of the hall and more words", ""]
PASSAGES = [
    "The lamp of Orvell burns green oil.",
    "a gate",
    "Water, stone " * 9,
    "the green hall",
    "",
    "gate " * 40,
]
SHAPE = {"dimension": 5, "query_length": 8, "passage_length": 20}
COSINE = {**SHAPE, "similarity": "cosine"}


def made(place: Path, shape: dict = SHAPE) -> ColBERT:
    torch.manual_seed(2)
    return ColBERT(ColBERTConfig(**shape), load_encoder(place)).eval()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.fixture(scope="module")
def model(place: Path) -> ColBERT:
    return made(place)


def scores(model: ColBERT, queries: list[str], passages: list[str]) -> torch.Tensor:
    with torch.no_grad():
        return model(**model.inputs(model.read_queries(queries), model.read_passages(passages)))


def test_a_score_by_hand(model: ColBERT) -> None:
    query = torch.tensor([[[1.0, 0.0], [0.0, 2.0], [9.0, 9.0]]])  # the third is padding
    passages = torch.tensor(
        [[[3.0, -1.0], [-2.0, 0.5], [50.0, 50.0]], [[-4.0, -4.0], [0.0, 0.0], [0.0, 0.0]]]
    )
    query_mask = torch.tensor([[True, True, False]])
    passage_mask = torch.tensor([[True, True, False], [True, False, False]])
    # max(3, −2) + max(−2, 1); −4 − 8, though padding's dot product would be 0
    assert model.interact(query, query_mask, passages, passage_mask).tolist() == [4.0, -12.0]
    far = passages * 1_000  # beyond the reference's −1000 for padding: still no match
    assert model.interact(query, query_mask, far, passage_mask).tolist() == [4_000.0, -12_000.0]


@pytest.mark.parametrize("architecture", ["bert", "distilbert", "roberta", "modernbert"])
@pytest.mark.parametrize("shape", [SHAPE, COSINE], ids=["dot", "cosine"])
def test_scores_are_those_of_a_plain_loop_over_plain_transformers(
    architecture: str, shape: dict, tmp_path: Path
) -> None:
    from transformers import AutoModel, AutoTokenizer

    place = saved(architecture, tmp_path / architecture)
    found = made(place, shape)
    plain, tokenizer = AutoModel.from_pretrained(place).eval(), AutoTokenizer.from_pretrained(place)

    def vectors(text: str, limit: int) -> torch.Tensor:
        read = tokenizer(text, truncation=True, max_length=limit, return_tensors="pt")
        if architecture == "distilbert":
            read.pop("token_type_ids")
        terms = plain(**read).last_hidden_state[0] @ found.projection.weight.T
        if found.projection.bias is not None:
            terms = terms + found.projection.bias
        return terms / terms.norm(dim=1, keepdim=True) if shape is COSINE else terms

    with torch.no_grad():
        expected = []
        for index, passage in enumerate(PASSAGES):
            query, terms = vectors(QUERIES[index % 3], 8), vectors(passage, 20)
            total = 0.0
            for one in query:
                total += max(float(one @ other) for other in terms)
            expected.append(total)
    assert scores(found, QUERIES, PASSAGES).tolist() == pytest.approx(expected, abs=1e-4)
    assert len({round(score, 3) for score in expected}) == 6
    assert (found.projection.bias is None) == (shape is COSINE)


@pytest.mark.parametrize("shape", [SHAPE, COSINE], ids=["dot", "cosine"])
def test_saved_and_loaded_it_is_the_same(place: Path, shape: dict, tmp_path: Path) -> None:
    model = made(place, shape)
    manifest = Manifest(kind="checkpoint", name="m", command="a test")
    save_checkpoint(tmp_path / "m", model, depth=4, training={}, manifest=manifest)
    again = load_checkpoint(tmp_path / "m", "multi-vector")
    assert isinstance(again.model, ColBERT)
    assert (again.model.config, again.depth) == (model.config, 4)
    assert torch.equal(scores(again.model, QUERIES, PASSAGES), scores(model, QUERIES, PASSAGES))
    with pytest.raises(
        SettingError, match="--kind: wanted .* as bi-encoder; found a checkpoint of kind colbert"
    ):
        load_checkpoint(tmp_path / "m", "bi-encoder")
    with pytest.raises(InputError, match="linear.weight of shape"):
        ColBERT.load(tmp_path / "m", {**asdict(model.config), "dimension": 6})


def test_the_probe_reads_the_vectors_that_are_compared(model: ColBERT) -> None:
    terms = term_encoder(model)
    rows = terms.read_passages(PASSAGES)
    assert [len(row) for row in rows] == [len(row) for row in model.read_passages(PASSAGES)]
    assert (terms.dimension, terms.room, list(terms.term_layers)) == (5, 18, [2])
    vectors = terms.term_vectors(rows)
    assert vectors.shape == (1, 6, 18, 5)
    with torch.no_grad():
        compared, _ = model.encode_passages(model.read_passages(PASSAGES))
    for index, row in enumerate(rows):  # behind [CLS]
        assert torch.allclose(
            vectors[0, index, : len(row)], compared[index, 1 : len(row) + 1], atol=1e-5
        )
    states = term_encoder(model, [1])  # asked for a layer, the encoder's
    assert type(states) is WordPieces
    assert states.dimension == 16


# -- sentence-transformers -------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", ["bert", "modernbert"])
@pytest.mark.parametrize("shape", [SHAPE, COSINE], ids=["dot", "cosine"])
def test_their_multi_vector_encoder_loads_ours(
    architecture: str, shape: dict, tmp_path: Path
) -> None:
    theirs = pytest.importorskip(
        "sentence_transformers", reason="sentence-transformers is not installed"
    )
    from positionbias.models.encoder import quiet_transformers

    model = made(saved(architecture, tmp_path / "first"), shape)
    manifest = Manifest(kind="checkpoint", name="m", command="a test")
    save_checkpoint(tmp_path / "m", model, depth=None, training={}, manifest=manifest)
    with quiet_transformers():
        loaded = theirs.MultiVectorEncoder(str(tmp_path / "m"), device="cpu")
    quiet = {"show_progress_bar": False}
    queries, passages = (
        loaded.encode_query(QUERIES * 2, **quiet),
        loaded.encode_document(PASSAGES, **quiet),
    )
    expected = scores(model, QUERIES, PASSAGES).tolist()
    assert loaded.similarity_pairwise(queries, passages).tolist() == pytest.approx(
        expected, abs=1e-4, rel=1e-5
    )
    assert [len(terms) for terms in passages] == [
        len(row) + 2 for row in model.read_passages(PASSAGES)
    ]
    # without ours it is a multi-vector model that the library runs
    for name in ("posbias.json", "manifest.json"):
        (tmp_path / "m" / name).unlink()
    with pytest.raises(
        SettingError,
        match="--kind: wanted multi-vector for .*: a colbert is one that was trained here",
    ):
        load_checkpoint(tmp_path / "m", "colbert")
    foreign = load_checkpoint(tmp_path / "m").model
    assert foreign.kind == "multi-vector"
    assert isinstance(foreign, PassageEncoder)
    query, passage = foreign.read_queries(QUERIES * 2), foreign.read_passages(PASSAGES)
    found = foreign.interact(*foreign.encode_queries(query), *foreign.encode_passages(passage))
    assert found.tolist() == pytest.approx(expected, abs=1e-4, rel=1e-5)
    unit = F.normalize(torch.ones(3), dim=0)
    # maxsim, not its mean
    assert loaded.similarity(unit.view(1, 1, 3), unit.view(1, 1, 3)).item() == pytest.approx(1)
