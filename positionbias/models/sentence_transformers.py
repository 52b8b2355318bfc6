"""Write the JSON of sentence-transformers' layout for our BERT_CAT, BERT_DOT and ColBERT, so that
it can load them.

CrossEncoder         Transformer with a sequence classifier's head, or Transformer, Pooling (cls),
                     Dense (dim → 1 or 2)
SentenceTransformer  Transformer, Pooling (cls or mean)[, Normalize]
MultiVectorEncoder   Transformer, Dense (each token), MultiVectorMask (padding alone)[, Normalize]
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from positionbias.core.json_text import JsonObject
from positionbias.core.publish import write_json

DENSE = "2_Dense"
ENCODER = "0_Transformer"
PROJECTION = "1_Dense"
_POOLING = "1_Pooling"
MODULES = "modules.json"
MODEL = "config_sentence_transformers.json"
TRANSFORMER = "sentence_bert_config.json"
IDENTITY = "torch.nn.modules.linear.Identity"
TYPES = {
    "Transformer": "sentence_transformers.base.modules.transformer.Transformer",
    "Pooling": "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
    "Dense": "sentence_transformers.base.modules.dense.Dense",
    "Normalize": "sentence_transformers.base.modules.normalize.Normalize",
    "MultiVectorMask": (
        "sentence_transformers.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask"
    ),
}
_TASKS = {
    "feature-extraction": ("last_hidden_state", "token_embeddings"),
    "sequence-classification": ("logits", "scores"),
}


def write_cross_encoder(folder: Path, *, dense: tuple[int, int] | None = None) -> None:
    """Write the files with which ``CrossEncoder(folder)`` loads a BERT_CAT and returns its score,
    or its two logits.

    ``dense``: the width and outputs of a head that is a module of its own, whose weights the caller
    writes; the encoder is then in the folder ``ENCODER``. None: the head is the sequence
    classifier's.
    """
    write_json(folder / MODEL, {**_model_facts("CrossEncoder"), "activation_fn": IDENTITY})
    if dense is None:
        _write_modules(folder, [("Transformer", "")])
        _write_transformer(folder, "sequence-classification")
        return
    width, outputs = dense
    _write_modules(folder, [("Transformer", ENCODER), ("Pooling", _POOLING), ("Dense", DENSE)])
    _write_transformer(folder / ENCODER, "feature-extraction")
    _write_pooling(folder, width, "cls")
    _write_dense(folder / DENSE, width, outputs, bias=True, names=("sentence_embedding", "scores"))


def write_bi_encoder(
    folder: Path,
    *,
    dimension: int,
    pooling: str,
    normalize: bool,
    query_length: int,
    passage_length: int,
    prompts: Mapping[str, str],
) -> None:
    """Write the files with which ``SentenceTransformer(folder)`` loads a BERT_DOT:
    ``encode_query · encode_document`` are its scores.
    """
    normal = "2_Normalize"
    _write_modules(
        folder,
        [
            ("Transformer", ""),
            ("Pooling", _POOLING),
            *([("Normalize", normal)] if normalize else []),
        ],
    )
    _write_transformer(
        folder, "feature-extraction", query_length=query_length, document_length=passage_length
    )
    write_json(
        folder / MODEL,
        {**_model_facts("SentenceTransformer"), "prompts": prompts, "similarity_fn_name": "dot"},
    )
    _write_pooling(folder, dimension, pooling)
    if normalize:
        _write_normalize(folder / normal, "sentence_embedding")


def write_multi_vector(
    folder: Path,
    *,
    states: int,
    dimension: int,
    bias: bool,
    normalize: bool,
    query_length: int,
    passage_length: int,
) -> None:
    """Write the files with which ``MultiVectorEncoder(folder)`` loads a ColBERT; the caller writes
    the projection's weights.
    """
    mask, normal, tokens = "2_MultiVectorMask", "3_Normalize", "token_embeddings"
    modules = [("Transformer", ""), ("Dense", PROJECTION), ("MultiVectorMask", mask)]
    _write_modules(folder, [*modules, *([("Normalize", normal)] if normalize else [])])
    _write_transformer(
        folder, "feature-extraction", query_length=query_length, document_length=passage_length
    )
    prompts = {"query": "", "document": ""}
    write_json(
        folder / MODEL,
        {**_model_facts("MultiVectorEncoder"), "prompts": prompts, "similarity_fn_name": "maxsim"},
    )
    _write_dense(folder / PROJECTION, states, dimension, bias=bias, names=(tokens, tokens))
    (folder / mask).mkdir()
    nothing_left_out = {
        "skiplist_words": [],
        "skiplist_tasks": ["document"],
        "keep_only_token_ids": None,
    }
    write_json(folder / mask / "config.json", nothing_left_out)
    if normalize:
        _write_normalize(folder / normal, tokens)


def _model_facts(kind: str) -> JsonObject:
    return {"model_type": kind, "prompts": {}, "default_prompt_name": None}


def _write_modules(folder: Path, modules: list[tuple[str, str]]) -> None:
    records = [
        {"idx": index, "name": str(index), "path": path, "type": TYPES[kind]}
        for index, (kind, path) in enumerate(modules)
    ]
    write_json(folder / MODULES, records)


def _write_transformer(folder: Path, task: str, **lengths: int) -> None:
    made, named = _TASKS[task]
    modality = {"text": {"method": "forward", "method_output_name": made}}
    write_json(
        folder / TRANSFORMER,
        {
            "transformer_task": task,
            "modality_config": modality,
            "module_output_name": named,
            **lengths,
        },
    )


def _write_dense(
    place: Path, width: int, outputs: int, *, bias: bool, names: tuple[str, str]
) -> None:
    place.mkdir(exist_ok=True)
    dense = {
        "in_features": width,
        "out_features": outputs,
        "bias": bias,
        "activation_function": IDENTITY,
    }
    write_json(
        place / "config.json",
        {**dense, "module_input_name": names[0], "module_output_name": names[1]},
    )


def _write_normalize(place: Path, what: str) -> None:
    place.mkdir()
    write_json(place / "config.json", {"module_input_name": what, "module_output_name": what})


def _write_pooling(folder: Path, dimension: int, pooling: str) -> None:
    (folder / _POOLING).mkdir(exist_ok=True)
    record = {"embedding_dimension": dimension, "pooling_mode": pooling, "include_prompt": True}
    write_json(folder / _POOLING / "config.json", record)
