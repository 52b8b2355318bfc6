"""Derive a model's layout from a transformers or sentence-transformers folder's JSON alone.

CrossEncoder         Transformer, Pooling (cls), Dense (dim → 1)
                     or Transformer with a sequence classifier's head
SentenceTransformer  Transformer, Pooling (cls or mean)[, Normalize], scored by dot product or
cosine

``read_layout`` reads these two as ours; of all others only ``read_family`` reads the family.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import read_json
from positionbias.models.door import module_records
from positionbias.models.sentence_transformers import IDENTITY, MODEL, MODULES, TRANSFORMER, TYPES

Family = Literal["cross-encoder", "bi-encoder", "multi-vector", "sparse"]
FAMILIES: tuple[Family, ...] = get_args(Family)
# the families of our kinds
OURS: Mapping[str, Family] = {
    "bert_cat": "cross-encoder",
    "bert_dot": "bi-encoder",
    "colbert": "multi-vector",
    "mono_t5": "cross-encoder",
}

_POOLINGS: dict[str, Literal["cls", "mean"]] = {"cls": "cls", "mean": "mean"}
# the names in older releases
_OLD_POOLING = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_MODEL_TYPES: dict[str, Family] = {
    "CrossEncoder": "cross-encoder",
    "SentenceTransformer": "bi-encoder",
    "MultiVectorEncoder": "multi-vector",
    "ColBERT": "multi-vector",  # PyLate's name for it
    "SparseEncoder": "sparse",
}
# settings of the module Transformer that ours read, or that change nothing here
_READ = frozenset({
    "document_length", "max_seq_length", "module_output_name", "query_length", "transformer_task",
    "unpad_inputs",
})  # fmt: skip
_DO = (
    "give another model, or train one from its encoder (posbias train bert_cat or bert_dot, "
    "--encoder)"
)


class UnsupportedLayout(InputError):
    """A model with parts that ours lack, which sentence-transformers itself may run. ``found``
    names them.
    """

    def __init__(self, message: str, found: str) -> None:
        super().__init__(message)
        self.found = found


@dataclass(frozen=True, slots=True)
class Layout:
    """A model's parts according to its folder. Lengths are None where the tokenizer's applies."""

    kind: Literal["bert_cat", "bert_dot"]
    classifier: bool = False
    dense: Path | None = None
    pooling: Literal["cls", "mean"] = "cls"
    normalize: bool = False
    query_length: int | None = None
    passage_length: int | None = None


def has_modules(folder: Path) -> bool:
    """Return True if a folder has sentence-transformers' list of modules."""
    return (folder / MODULES).is_file()


def read_family(folder: Path) -> Family | None:
    """Return the family of the model in a transformers or sentence-transformers folder; None for an
    encoder without a head.

    Raises:
        InputError: a damaged file, an unknown type of model, or a module that is not
            sentence-transformers' own.
    """
    facts = model_facts(folder)
    if not has_modules(folder):
        named = architecture(folder)
        if named.endswith("ForSequenceClassification"):
            return "cross-encoder"
        return "multi-vector" if named == "HF_ColBERT" else None
    kind = facts.get("model_type") or "SentenceTransformer"
    if kind not in _MODEL_TYPES:
        raise bad_input(
            folder / MODEL,
            wanted=f"one of {', '.join(_MODEL_TYPES)}",
            found=f"a model of type {kind}",
            do=_DO,
        )
    pylate = (
        any(module.startswith("pylate.") for module, _ in module_records(folder))
        or "query_prefix" in facts
    )
    return "multi-vector" if kind == "SentenceTransformer" and pylate else _MODEL_TYPES[kind]


def read_layout(folder: Path, family: Family) -> Layout:
    """Return the parts of a cross-encoder or bi-encoder in our terms.

    An encoder without a head becomes a bi-encoder with mean pooling and cosine, as in
    sentence-transformers.

    Raises:
        UnsupportedLayout: parts that ours lack.
        InputError: a damaged file.
    """
    facts = model_facts(folder)
    if family not in ("cross-encoder", "bi-encoder"):
        raise _unsupported(folder / (MODEL if facts else "config.json"), f"a {family} model")
    if not has_modules(folder):
        if architecture(folder).endswith("ForCausalLM"):
            raise _unsupported(folder / "config.json", "a model that reads from left to right")
        if family == "bi-encoder":
            return Layout("bert_dot", pooling="mean", normalize=True)
        _check_labels(folder)
        return Layout("bert_cat", classifier=True)
    modules = _modules(folder)
    transformer = _transformer(folder)
    read = _cross_encoder if family == "cross-encoder" else _bi_encoder
    return read(folder, facts, transformer, modules)


def model_facts(folder: Path) -> dict[str, Any]:
    """Return sentence-transformers' settings of a whole model; none without its list of modules, as
    in that library.
    """
    return _json(folder / MODEL) if has_modules(folder) and (folder / MODEL).is_file() else {}


def architecture(folder: Path) -> str:
    """Return the class named in ``config.json``, or ""."""
    config = _json(folder / "config.json")
    architectures = config.get("architectures") or [""]
    return str(architectures[0])


def _cross_encoder(
    folder: Path, facts: dict, transformer: dict, modules: list[tuple[str, Path]]
) -> Layout:
    if facts.get("default_prompt_name"):
        raise _unsupported(folder / MODEL, "a prompt before each text (default_prompt_name)")
    kinds = [kind for kind, _ in modules]
    length = transformer.get("max_seq_length")
    if (
        kinds == ["Transformer"]
        and transformer.get("transformer_task") == "sequence-classification"
    ):
        _check_labels(folder)
        return Layout("bert_cat", classifier=True, passage_length=length)
    if kinds != ["Transformer", "Pooling", "Dense"]:
        raise _unsupported(folder / MODULES, f"the modules {', '.join(kinds)}")
    if (pooling := _pooling(modules[1][1])) != "cls":
        raise _unsupported(modules[1][1] / "config.json", f"{pooling} pooling in a cross-encoder")
    place = modules[2][1]
    dense = _json(place / "config.json")
    plain = (
        dense.get("out_features") == 1 and dense.get("bias", True) and not dense.get("use_residual")
    )
    named = dense.get("module_input_name", "sentence_embedding"), dense.get("module_output_name")
    if (
        not plain
        or dense.get("activation_function") != IDENTITY
        or named != ("sentence_embedding", "scores")
    ):
        raise _unsupported(
            place / "config.json", "a head other than one linear layer, with a bias, to one score"
        )
    return Layout("bert_cat", dense=place / "model.safetensors", passage_length=length)


def _bi_encoder(
    folder: Path, facts: dict, transformer: dict, modules: list[tuple[str, Path]]
) -> Layout:
    kinds = [kind for kind, _ in modules]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise _unsupported(folder / MODULES, f"the modules {', '.join(kinds)}")
    pooling = _pooling(modules[1][1])
    if pooling not in _POOLINGS:
        raise _unsupported(modules[1][1] / "config.json", f"{pooling} pooling")
    if kinds[-1] == "Normalize" and (modules[2][1] / "config.json").is_file():
        names = set(_json(modules[2][1] / "config.json").values())
        if names - {"sentence_embedding", None}:
            raise _unsupported(
                modules[2][1] / "config.json", "normalising anything but the text's vector"
            )
    if _json(modules[1][1] / "config.json").get("include_prompt") is False:
        raise _unsupported(modules[1][1] / "config.json", "pooling without the prompt's tokens")
    similarity = facts.get("similarity_fn_name") or "cosine"  # sentence-transformers' own default
    if similarity not in ("cosine", "dot"):
        raise _unsupported(folder / MODEL, f"{similarity} similarity")
    if facts.get("truncate_dim"):
        raise _unsupported(folder / MODEL, "vectors that are cut (truncate_dim)")
    length = transformer.get("max_seq_length")
    return Layout(
        "bert_dot",
        pooling=_POOLINGS[pooling],
        normalize=kinds[-1] == "Normalize" or similarity == "cosine",
        query_length=transformer.get("query_length") or length,
        passage_length=transformer.get("document_length") or length,
    )


def _transformer(folder: Path) -> dict[str, Any]:
    """Return the settings of the module Transformer, after checking that ours read all of them."""
    for place in sorted(folder.glob("sentence_*_config.json")):
        if place.name != TRANSFORMER:
            raise _unsupported(place, "an encoder's settings under an older name")
    transformer = _json(folder / TRANSFORMER) if (folder / TRANSFORMER).is_file() else {}
    for name, value in transformer.items():
        if (
            value
            and name not in _READ
            and not (name == "modality_config" and set(value) == {"text"})
        ):
            raise _unsupported(folder / TRANSFORMER, f"a setting of the encoder ({name})")
    return transformer


def _modules(folder: Path) -> list[tuple[str, Path]]:
    out = []
    for kind, path in module_records(folder):
        name = kind.rsplit(".", 1)[-1]
        if not kind.startswith("sentence_transformers.") or name not in TYPES:
            raise _unsupported(folder / MODULES, f"the module {kind}")
        if name == "Transformer" and path:
            raise _unsupported(folder / MODULES, "an encoder in a folder of its own")
        out.append((name, folder / path))
    return out


def _pooling(place: Path) -> str:
    record = _json(place / "config.json")
    mode = (
        record.get("pooling_mode")
        or [name for key, name in _OLD_POOLING.items() if record.get(key)]
        or "mean"
    )
    return mode if isinstance(mode, str) else " and ".join(map(str, mode))


def _check_labels(folder: Path) -> None:
    """Check that a sequence classifier has one label.

    Raises:
        UnsupportedLayout: it has more.
    """
    config = _json(folder / "config.json")
    # transformers writes only the labels
    labels = config.get("num_labels") or len(config.get("id2label") or {0: "", 1: ""})
    if labels != 1:
        raise _unsupported(folder / "config.json", f"a classifier of {labels} labels")


def _json(path: Path) -> dict[str, Any]:
    record = read_json(path, what="a model's settings")
    if not isinstance(record, dict):
        raise bad_input(
            path, wanted="a model's settings", found="other JSON", do="fetch the model again"
        )
    return record


def _unsupported(path: Path, what: str) -> UnsupportedLayout:
    wanted = "a cross-encoder with one score, or a bi-encoder with CLS or mean pooling"
    error = bad_input(path, wanted=wanted, found=f"{what}, which is not supported", do=_DO)
    return UnsupportedLayout(str(error), what)
