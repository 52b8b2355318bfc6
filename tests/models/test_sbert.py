"""What ours have not is run by sentence-transformers, with the scores that it gives itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from positionbias.core.errors import InputError, SettingError
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.encoder import quiet_transformers
from positionbias.models.encoder_source import _is_part
from positionbias.models.prompts import Prompts
from positionbias.models.protocols import PassageEncoder, Ranker, TextScorer
from positionbias.models.sbert_encoders import Sparse
from positionbias.ranking import cached
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.rerank import rescore

from ..tiny import tiny_encoder, tiny_tokenizer
from .encoders import SHAPE, saved
from .library import QUIET, bi_encoder, cross_encoder, head, kept, pooling, theirs, transformer

QUERIES = {"q1": "what is the lamp of Orvell", "q2": "iron gate " * 20, "q3": "gate", "q4": " "}
TEXTS = {
    "a": "The lamp burns green oil. " * 9,
    "b": "Iron gate.",
    "c": "a stone in the hall",
    "d": "",
    "e": "The water of the hall, and the iron gate",
}
RUN = Run(
    "bm25",
    [(query_id, sorted(TEXTS), [5, 4, 3, 2, 1]) for query_id in ("q1", "q2", "q4")]
    + [("q3", ["b", "e"], [2, 1])],
)


class Texts:
    """Passages by id."""

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        return [TEXTS[passage_id] for passage_id in passage_ids]


def scores(
    model: Any, run: Run = RUN, queries: dict[str, str] = QUERIES, tokens: int = 0
) -> dict[tuple[str, str], float]:
    """What ``rescore`` makes of a run."""
    asked = [Query(query_id, text) for query_id, text in queries.items()]
    done = rescore(
        model, Texts(), asked, run, name="theirs", config=RankingConfig(batch_tokens=tokens)
    ).run
    return {
        (r.query_id, p): float(s)
        for r in done.rankings()
        for p, s in zip(r.passage_ids, r.scores, strict=True)
    }


PAIRS = [(r.query_id, passage_id) for r in RUN.rankings() for passage_id in r.passage_ids]


def predicted(model: Any) -> dict[tuple[str, str], float]:
    """What the library's cross-encoder gives for each pair, without an activation."""
    pairs = [(QUERIES[query_id], TEXTS[passage_id]) for query_id, passage_id in PAIRS]
    given = model.predict(pairs, activation_fn=torch.nn.Identity(), **QUIET)
    return dict(zip(PAIRS, map(float, given), strict=True))


def similar(model: Any) -> dict[tuple[str, str], float]:
    """What the library's encoder gives for each pair, by its own similarity."""
    form = {"convert_to_sparse_tensor": False} if isinstance(model, theirs.SparseEncoder) else {}
    queries = model.encode_query([QUERIES[query_id] for query_id, _ in PAIRS], **form, **QUIET)
    passages = model.encode_document(
        [TEXTS[passage_id] for _, passage_id in PAIRS], **form, **QUIET
    )
    return dict(zip(PAIRS, map(float, model.similarity_pairwise(queries, passages)), strict=True))


# -- models of every family, each as the library saves it ------------------------------------------


def max_pooled(folder: Path) -> Any:
    return bi_encoder(
        modules=[transformer(folder / "tiny", max_seq_length=20), pooling("max")],
        prompts={"query": "what is "},
    )


def projected(folder: Path) -> Any:
    layer = head(
        out_features=5, module_output_name="sentence_embedding", activation_function=torch.nn.Tanh()
    )
    modules = [transformer(folder / "tiny"), pooling("mean"), layer]
    return bi_encoder(modules=modules, similarity_fn_name="euclidean")


def late_interaction(folder: Path, similarity: str = "maxsim") -> Any:
    from sentence_transformers.base.modules import Normalize
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    expansion = {"strategy": "fixed", "attend": True, "length": 9}
    layer = head(
        out_features=6,
        bias=False,
        module_input_name="token_embeddings",
        module_output_name="token_embeddings",
    )
    modules = [
        transformer(folder / "tiny", document_length=24, query_expansion=expansion),
        layer,
        MultiVectorMask(skiplist_words=[".", ","]),
        Normalize(module_input_name="token_embeddings"),
    ]
    with quiet_transformers():
        return theirs.MultiVectorEncoder(
            modules=modules, device="cpu", similarity_fn_name=similarity
        )


def masked_language_model(folder: Path) -> Path:
    """A BERT with its masked-word head, as SPLADE starts from."""
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(4)
    tokenizer = tiny_tokenizer()
    config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **SHAPE)
    with quiet_transformers():
        BertForMaskedLM(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def splade(folder: Path, similarity: str = "dot") -> Any:
    with quiet_transformers():
        return theirs.SparseEncoder(
            str(masked_language_model(folder / "mlm")), device="cpu", similarity_fn_name=similarity
        )


def mean_pooled_pair(folder: Path) -> Any:
    return cross_encoder(
        modules=[transformer(folder / "tiny", max_seq_length=31), pooling("mean"), head()]
    )


def with_tanh(folder: Path) -> Any:
    activated = head(activation_function=torch.nn.Tanh())
    return cross_encoder(
        modules=[transformer(folder / "tiny"), pooling("cls"), activated],
        activation_fn=torch.nn.Sigmoid(),
    )


MODELS: dict[str, tuple[Callable[[Path], Any], Callable[[Any], dict[tuple[str, str], float]]]] = {
    "bi-encoder, max": (max_pooled, similar),
    "bi-encoder, dense": (projected, similar),
    "multi-vector": (late_interaction, similar),
    "multi-vector, mean": (lambda folder: late_interaction(folder, "meanmaxsim"), similar),
    "sparse": (splade, similar),
    "sparse, cosine": (lambda folder: splade(folder, "cosine"), similar),
    "cross-encoder, mean": (mean_pooled_pair, predicted),
    "cross-encoder, tanh": (with_tanh, predicted),
}


def close(expected: dict[tuple[str, str], float]) -> Any:
    return pytest.approx(expected, abs=1e-5, rel=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_the_librarys_own_whatever_the_batches(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, by_library = MODELS[name]
    theirs_model = make(tmp_path)
    found = load_checkpoint(kept(theirs_model, tmp_path / "saved"))
    expected = by_library(theirs_model)
    # it does tell pairs apart
    assert len({round(value, 4) for value in expected.values()}) > len(expected) / 2
    assert found.model.kind == name.split(",")[0]
    assert isinstance(found.model, TextScorer if "cross" in name else PassageEncoder)
    assert not isinstance(found.model, Ranker)
    assert scores(found.model) == close(expected)
    assert scores(found.model, tokens=1) == close(expected)
    turned = Run(
        "bm25",
        [
            (r.query_id, r.passage_ids[::-1], list(range(len(r.passage_ids), 0, -1)))
            for r in reversed(list(RUN.rankings()))
        ],
    )
    assert scores(found.model, turned) == close(expected)
    monkeypatch.setattr(cached, "READ_PASSAGES", 2)
    monkeypatch.setattr(cached, "READ_QUERIES", 1)
    assert scores(found.model) == close(expected)


def test_sparse_vectors_by_hand() -> None:
    """Numbers and weights: only what both sides have counts, and a text without any has 0."""

    class Library:
        similarity_fn_name = "dot"
        tokenizer = None

    sparse = Sparse(Library(), Path(), Prompts("", ""))
    queries = torch.tensor([[0.0, 2.0, 0.0, 3.0], [0.0, 0.0, 0.0, 0.0]])
    passages = torch.tensor([[1.0, 4.0, 0.0, 0.5], [0.0, 0.0, 5.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    encoded, query_mask = sparse._rows(queries)
    assert encoded[0].tolist() == [[1, 2], [3, 3]]
    assert query_mask.tolist() == [[True, True], [False, False]]
    both = sparse._rows(passages)
    assert sparse.interact(encoded[:1], query_mask[:1], *both).tolist() == [2 * 4 + 3 * 0.5, 0, 0]
    assert sparse.interact(encoded[1:], query_mask[1:], *both).tolist() == [0, 0, 0]
    # a batch of nothing has a row all the same: batches are made by their number
    nothing, mask = sparse._rows(passages[2:])
    assert (nothing.shape, mask.tolist()) == ((1, 1, 2), [[False]])
    assert sparse.interact(encoded[:1], query_mask[:1], nothing, mask).tolist() == [0]


def test_a_cross_encoder_counts_nothing_as_cut_and_halves_its_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = mean_pooled_pair(tmp_path)
    found = load_checkpoint(kept(library, tmp_path / "saved"))
    predict, sizes = found.model._model.predict, []

    def limited(pairs: list, batch_size: int, **given: Any) -> Any:
        sizes.append(batch_size)
        if batch_size > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return predict(pairs, batch_size=batch_size, **given)

    monkeypatch.setattr(found.model._model, "predict", limited)
    done = rescore(
        found.model, Texts(), [Query(*item) for item in QUERIES.items()], RUN, name="theirs"
    )
    assert sizes == [32, 16, 8, 4, 2, 2, 2, 2]
    assert (done.cached, done.room, done.counts.truncated) == (False, None, 0)
    assert "up to the length limit" not in " ".join(done.rows("c", "test")["measure"])
    assert scores(found.model) == close(predicted(library))


# -- what the files say, and what is said for them -------------------------------------------------


def test_what_pylate_saved(tmp_path: Path) -> None:
    """Transformer and a Dense of PyLate's own class; masking and lengths stand in the
    configuration.
    """
    place = kept(late_interaction(tmp_path), tmp_path / "pylate")
    modules = json.loads((place / "modules.json").read_text())[:2]
    modules[1]["type"] = "pylate.models.Dense.Dense"
    (place / "modules.json").write_text(json.dumps(modules))
    facts = {
        "model_type": "ColBERT",
        "query_prefix": "",
        "document_prefix": "",
        "query_length": 9,
        "document_length": 24,
    }
    facts |= {
        "skiplist_words": [".", ","],
        "do_query_expansion": True,
        "attend_to_expansion_tokens": True,
    }
    (place / "config_sentence_transformers.json").write_text(json.dumps(facts))
    with quiet_transformers():
        library = theirs.MultiVectorEncoder(str(place), device="cpu")
    found = load_checkpoint(place)
    assert found.model.kind == "multi-vector"
    assert scores(found.model) == close(similar(library))
    del facts["model_type"]  # as older releases wrote it
    (place / "config_sentence_transformers.json").write_text(json.dumps(facts))
    assert load_checkpoint(place).model.kind == "multi-vector"


def test_what_stanfords_colbert_saved(tmp_path: Path) -> None:
    """One file of weights with the projection among them; marks and lengths stand in
    ``artifact.metadata``.
    """
    from safetensors.torch import load_file, save_file

    place = tiny_encoder(tmp_path / "colbert")
    torch.manual_seed(6)
    weights = {
        f"bert.{name}": tensor for name, tensor in load_file(place / "model.safetensors").items()
    }
    save_file(
        {**weights, "linear.weight": torch.randn(8, 16)},
        place / "model.safetensors",
        metadata={"format": "pt"},
    )
    change(place / "config.json", architectures=["HF_ColBERT"])
    metadata = {
        "query_token_id": "[unused0]",
        "doc_token_id": "[unused1]",
        "query_maxlen": 12,
        "doc_maxlen": 30,
    }
    (place / "artifact.metadata").write_text(json.dumps(metadata))
    with quiet_transformers():
        library = theirs.MultiVectorEncoder(str(place), device="cpu")
    found = load_checkpoint(place)
    assert (found.model.kind, found.model.dimension, found.model.room) == ("multi-vector", 8, 30)
    assert scores(found.model) == close(similar(library))


KINDS: dict[str, tuple[Callable[[Path], Path], str, str]] = {
    "a head that is not there": (lambda f: tiny_encoder(f / "e"), "cross-encoder",
    r"found an encoder \(BertModel\) without a classification head"),
    "a projection that is not there": (lambda f: tiny_encoder(f / "e"), "multi-vector",
    "without a projection of its tokens"),
    "no masked-word head": (lambda f: tiny_encoder(f / "e"), "sparse",
    "without a masked-word head"),
    "another family": (lambda f: kept(max_pooled(f), f / "s"), "cross-encoder",
    "as a cross-encoder model; found a bi-encoder model"),
    "no such projection": (lambda f: kept(max_pooled(f), f / "s"), "multi-vector",
    "found a bi-encoder model; leave --kind out"),
    "ours": (lambda f: tiny_encoder(f / "e"), "tk",
    "--kind: wanted one of cross-encoder, .*; found 'tk'"),
}  # fmt: skip


@pytest.mark.parametrize("case", KINDS)
def test_a_kind_that_the_files_do_not_bear_out(case: str, tmp_path: Path) -> None:
    make, kind, message = KINDS[case]
    with pytest.raises(SettingError, match=message):
        load_checkpoint(make(tmp_path), kind)


def test_ours_alone_when_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found max pooling, which is not supported"):
        load_checkpoint(kept(max_pooled(tmp_path), tmp_path / "saved"), "bert_dot")
    place = saved("bert", tmp_path / "plain", classifier=True)
    assert (
        load_checkpoint(place, "bert_cat").model.kind
        == load_checkpoint(place, "cross-encoder").model.kind
        == "bert_cat"
    )


# -- nothing of a checkpoint runs ------------------------------------------------------------------


def change(path: Path, **facts: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.place,))


@pytest.mark.parametrize("allowed", [False, True], ids=["as-it-is", "said-to-be-trusted"])
def test_a_pickle_is_not_run(allowed: bool, tmp_path: Path) -> None:
    place = kept(max_pooled(tmp_path), tmp_path / "saved")
    (place / "model.safetensors").unlink()
    torch.save({"weight": Trap(tmp_path / "sprung")}, place / "pytorch_model.bin")
    if allowed:
        change(
            place / "sentence_bert_config.json",
            model_args={"weights_only": False, "trust_remote_code": True},
        )
    with pytest.raises(InputError) as caught:
        load_checkpoint(place)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "sprung").exists()


def test_a_damaged_folder_is_one_line(tmp_path: Path) -> None:
    place = kept(projected(tmp_path), tmp_path / "saved")
    (place / "2_Dense" / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(
        InputError, match=r"saved: wanted a bi-encoder model of sentence-transformers; found"
    ) as caught:
        load_checkpoint(place)
    assert "\n" not in str(caught.value)


def test_a_sparse_encoder_of_another_similarity(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="by dot product or cosine; found euclidean similarity"):
        load_checkpoint(kept(splade(tmp_path, "euclidean"), tmp_path / "saved"))


def test_what_is_fetched_of_a_repository() -> None:
    """Weights as safetensors where a folder has them, and no copy in another form."""
    wanted = [
        "modules.json", "tokenizer.json", "model.safetensors", "1_Pooling/config.json",
        "2_Dense/pytorch_model.bin",
        "query_0_WordEmbeddings/model.safetensors", "artifact.metadata", "chat_template.jinja",
    ]  # fmt: skip
    others = [
        "pytorch_model.bin",
        "onnx/model.safetensors",
        "modeling.py",
        "README.md",
        "training_args.bin",
        "eval/result.json",
    ]
    files = [*wanted, *others]
    assert [file for file in files if _is_part(file, files)] == wanted
