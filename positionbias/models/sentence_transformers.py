"""sentence-transformers' folders, written and read as JSON, so that each side loads what the other saved.

CrossEncoder         Transformer, Pooling (cls), Dense (dim → 1)      or Transformer with a sequence classifier's head
SentenceTransformer  Transformer, Pooling (cls or mean)[, Normalize]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import read_json, write_json

__all__ = ["DENSE", "Layout", "read_layout", "write_bi_encoder", "write_cross_encoder"]

DENSE = "2_Dense"
_POOLING = "1_Pooling"
_MODULES = "modules.json"
_MODEL = "config_sentence_transformers.json"
_TRANSFORMER = "sentence_bert_config.json"
_IDENTITY = "torch.nn.modules.linear.Identity"
_TYPES = {
    "Transformer": "sentence_transformers.base.modules.transformer.Transformer",
    "Pooling": "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
    "Dense": "sentence_transformers.base.modules.dense.Dense",
    "Normalize": "sentence_transformers.base.modules.normalize.Normalize",
}
_TASKS = {
    "feature-extraction": ("last_hidden_state", "token_embeddings"),
    "sequence-classification": ("logits", "scores"),
}
_POOLINGS: dict[str, Literal["cls", "mean"]] = {"cls": "cls", "mean": "mean"}
# how older releases wrote it
_OLD_POOLING = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_DO = "give another model, or train one from its encoder (posbias train bert_cat or bert_dot, --encoder)"


# -- writing ----------------------------------------------------------------------------------------


def write_cross_encoder(folder: Path, *, dimension: int, linear_head: bool) -> None:
    """What lets ``CrossEncoder(folder)`` load a BERT_CAT and give its scores; the head's weights are written by the caller."""
    _write_modules(folder, [("Transformer", ""), *([("Pooling", _POOLING), ("Dense", DENSE)] if linear_head else [])])
    _write_transformer(folder, "feature-extraction" if linear_head else "sequence-classification")
    write_json(folder / _MODEL, {**_model_facts("CrossEncoder"), "activation_fn": _IDENTITY})
    if linear_head:
        _write_pooling(folder, dimension, "cls")
        dense = {"in_features": dimension, "out_features": 1, "bias": True, "activation_function": _IDENTITY}
        (folder / DENSE).mkdir(exist_ok=True)
        write_json(
            folder / DENSE / "config.json",
            {**dense, "module_input_name": "sentence_embedding", "module_output_name": "scores"},
        )


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
    """What lets ``SentenceTransformer(folder)`` load a BERT_DOT: ``encode_query · encode_document`` are its scores."""
    normal = "2_Normalize"
    _write_modules(folder, [("Transformer", ""), ("Pooling", _POOLING), *([("Normalize", normal)] if normalize else [])])
    _write_transformer(folder, "feature-extraction", query_length=query_length, document_length=passage_length)
    write_json(folder / _MODEL, {**_model_facts("SentenceTransformer"), "prompts": prompts, "similarity_fn_name": "dot"})
    _write_pooling(folder, dimension, pooling)
    if normalize:
        (folder / normal).mkdir()
        names = {"module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding"}
        write_json(folder / normal / "config.json", names)


def _model_facts(kind: str) -> dict[str, Any]:
    return {"model_type": kind, "prompts": {}, "default_prompt_name": None}


def _write_modules(folder: Path, modules: list[tuple[str, str]]) -> None:
    records = [
        {"idx": index, "name": str(index), "path": path, "type": _TYPES[kind]} for index, (kind, path) in enumerate(modules)
    ]
    write_json(folder / _MODULES, records)


def _write_transformer(folder: Path, task: str, **lengths: int) -> None:
    made, named = _TASKS[task]
    modality = {"text": {"method": "forward", "method_output_name": made}}
    write_json(
        folder / _TRANSFORMER,
        {"transformer_task": task, "modality_config": modality, "module_output_name": named, **lengths},
    )


def _write_pooling(folder: Path, dimension: int, pooling: str) -> None:
    (folder / _POOLING).mkdir(exist_ok=True)
    record = {"embedding_dimension": dimension, "pooling_mode": pooling, "include_prompt": True}
    write_json(folder / _POOLING / "config.json", record)


# -- reading ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Layout:
    """What a folder says of a model. Lengths are None where the tokenizer's own holds."""

    kind: Literal["bert_cat", "bert_dot"]
    classifier: bool = False
    dense: Path | None = None
    pooling: Literal["cls", "mean"] = "cls"
    normalize: bool = False
    query_length: int | None = None
    passage_length: int | None = None
    query_prompt: str = ""
    passage_prompt: str = ""


def read_layout(folder: Path) -> Layout:
    """What kind of model a folder of transformers or sentence-transformers holds.

    Raises:
        InputError: neither a cross-encoder of one label nor a bi-encoder with CLS or mean pooling; the line says what is not
            supported.
    """
    facts = _json(folder / _MODEL) if (folder / _MODEL).is_file() else {}
    if not (folder / _MODULES).is_file():
        return _bare(folder)
    modules = _modules(folder)
    transformer = _json(folder / _TRANSFORMER) if (folder / _TRANSFORMER).is_file() else {}
    if transformer.get("do_lower_case"):
        raise _unsupported(folder / _TRANSFORMER, "lower-casing before the tokenizer (do_lower_case)")
    kind = facts.get("model_type", "SentenceTransformer")
    if kind == "CrossEncoder":
        return _cross_encoder(folder, facts, transformer, modules)
    if kind == "SentenceTransformer":
        return _bi_encoder(folder, facts, transformer, modules)
    raise _unsupported(folder / _MODEL, f"a model of type {kind}")


def _bare(folder: Path) -> Layout:
    config = _json(folder / "config.json")
    architectures = config.get("architectures") or [""]
    if not str(architectures[0]).endswith("ForSequenceClassification"):
        found = "an encoder with no head, which no one trained to rank"
        raise bad_input(
            folder, wanted="a trained model (a posbias checkpoint, or a cross-encoder or bi-encoder)", found=found, do=_DO
        )
    _check_labels(folder, config)
    return Layout("bert_cat", classifier=True)


def _cross_encoder(folder: Path, facts: dict, transformer: dict, modules: list[tuple[str, Path]]) -> Layout:
    if facts.get("default_prompt_name"):
        raise _unsupported(folder / _MODEL, "a prompt before each text (default_prompt_name)")
    kinds = [kind for kind, _ in modules]
    length = transformer.get("max_seq_length")
    if kinds == ["Transformer"] and transformer.get("transformer_task") == "sequence-classification":
        _check_labels(folder, _json(folder / "config.json"))
        return Layout("bert_cat", classifier=True, passage_length=length)
    if kinds != ["Transformer", "Pooling", "Dense"]:
        raise _unsupported(folder / _MODULES, f"the modules {', '.join(kinds)}")
    if (pooling := _pooling(modules[1][1])) != "cls":
        raise _unsupported(modules[1][1] / "config.json", f"{pooling} pooling in a cross-encoder")
    place = modules[2][1]
    dense = _json(place / "config.json")
    plain = dense.get("out_features") == 1 and dense.get("bias", True) and not dense.get("use_residual")
    named = dense.get("module_input_name", "sentence_embedding"), dense.get("module_output_name")
    if not plain or dense.get("activation_function") != _IDENTITY or named != ("sentence_embedding", "scores"):
        raise _unsupported(place / "config.json", "a head other than one linear layer, with a bias, to one score")
    return Layout("bert_cat", dense=place / "model.safetensors", passage_length=length)


def _bi_encoder(folder: Path, facts: dict, transformer: dict, modules: list[tuple[str, Path]]) -> Layout:
    kinds = [kind for kind, _ in modules]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise _unsupported(folder / _MODULES, f"the modules {', '.join(kinds)}")
    pooling = _pooling(modules[1][1])
    if pooling not in _POOLINGS:
        raise _unsupported(modules[1][1] / "config.json", f"{pooling} pooling")
    if kinds[-1] == "Normalize" and (modules[2][1] / "config.json").is_file():
        names = set(_json(modules[2][1] / "config.json").values())
        if names - {"sentence_embedding", None}:
            raise _unsupported(modules[2][1] / "config.json", "normalising anything but the text's vector")
    prompts, default = facts.get("prompts") or {}, facts.get("default_prompt_name")
    fallback = prompts.get(default, "") if default else ""
    query = prompts.get("query", fallback) or ""
    # the names under which sentence-transformers looks for a passage's prompt
    passage = next((prompts[name] for name in ("document", "passage", "corpus") if name in prompts), fallback) or ""
    if (query or passage) and _json(modules[1][1] / "config.json").get("include_prompt") is False:
        raise _unsupported(modules[1][1] / "config.json", "pooling without the prompt's tokens")
    length = transformer.get("max_seq_length")
    return Layout(
        "bert_dot",
        pooling=_POOLINGS[pooling],
        normalize=kinds[-1] == "Normalize",
        query_length=transformer.get("query_length") or length,
        passage_length=transformer.get("document_length") or length,
        query_prompt=query,
        passage_prompt=passage,
    )


def _modules(folder: Path) -> list[tuple[str, Path]]:
    try:
        records = [
            (str(record["type"]), str(record["path"])) for record in read_json(folder / _MODULES, what="a model's modules")
        ]
    except (KeyError, TypeError) as error:
        raise bad_input(folder / _MODULES, wanted="a list of modules", found="other JSON", do=_DO) from error
    out = []
    for kind, path in records:
        name = kind.rsplit(".", 1)[-1]
        if not kind.startswith("sentence_transformers.") or name not in _TYPES:
            raise _unsupported(folder / _MODULES, f"the module {kind}")
        if Path(path).is_absolute() or ".." in Path(path).parts:
            raise bad_input(folder / _MODULES, wanted="modules inside the folder", found=path, do="fetch the model again")
        if name == "Transformer" and path:
            raise _unsupported(folder / _MODULES, "an encoder in a folder of its own")
        out.append((name, folder / path))
    return out


def _pooling(place: Path) -> str:
    record = _json(place / "config.json")
    mode = record.get("pooling_mode") or [name for key, name in _OLD_POOLING.items() if record.get(key)] or "mean"
    return mode if isinstance(mode, str) else " and ".join(map(str, mode))


def _check_labels(folder: Path, config: dict) -> None:
    labels = config.get("num_labels") or len(config.get("id2label") or {0: "", 1: ""})  # transformers writes only the labels
    if labels != 1:
        raise _unsupported(folder / "config.json", f"a classifier of {labels} labels (wanted one score)")


def _json(path: Path) -> dict[str, Any]:
    record = read_json(path, what="a model's settings")
    if not isinstance(record, dict):
        raise bad_input(path, wanted="a model's settings", found="other JSON", do="fetch the model again")
    return record


def _unsupported(path: Path, what: str) -> InputError:
    wanted = "a cross-encoder with one score, or a bi-encoder with CLS or mean pooling"
    return bad_input(path, wanted=wanted, found=f"{what}, which is not supported", do=_DO)
