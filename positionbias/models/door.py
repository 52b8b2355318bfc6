"""Check every setting in a foreign model's folder before a library reads it.

transformers and sentence-transformers load classes, kernels, files and other models by names in a
folder's JSON. This check accepts numbers, plain words and lists of them, objects under known keys,
and text under keys that no library reads as a name. Everything else is refused: nothing that a
checkpoint names is run.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import read_json
from positionbias.core.json_text import JsonObject
from positionbias.models import door_rules as rules
from positionbias.models.sentence_transformers import MODEL, MODULES, TRANSFORMER

_DO = (
    "give another model, or take the key out of a copy of it if it works without: code that a "
    "checkpoint names is never run here"
)
_SHOWN = 80  # characters of a value
_SIZES = re.compile(r"(layers|_size|_dim|d_model|d_ff|d_kv)$")
# bytes: smaller models are quickly built, and then truncated weights are reported as the damage
_ROOM = 1 << 20
_LAYER_BYTES = 1 << 10  # the least that a layer's weights and their names take in the file

_MODULE = re.compile(r"sentence_transformers(\.\w+)*\.(\w+)")
_MODULES = frozenset({
    "BoW", "CLIPModel", "CNN", "Dense", "Dropout", "HierarchicalTokenPooling", "LSTM", "LayerNorm",
    "LogitScore", "MLMTransformer",
    "MultiVectorMask", "Normalize", "Pooling", "SparseAutoEncoder", "SparseStaticEmbedding",
    "SpladePooling", "StaticEmbedding",
    "Transformer", "WeightedLayerPooling", "WordEmbeddings", "WordWeights",
})  # fmt: skip
_ROUTERS = frozenset({"Asym", "Router"})
_ENCODERS = frozenset({"CLIPModel", "MLMTransformer", "Transformer"})
_PYLATE = "pylate.models.Dense.Dense"  # sentence-transformers reads it as its own
_BY_NAME = {
    "tokenizer_config.json": rules.TOKENIZER,
    "special_tokens_map.json": rules.TOKENIZER,
    "generation_config.json": rules.GENERATION,
    "processor_config.json": rules.PROCESSOR,
    "preprocessor_config.json": rules.PROCESSOR,
    "video_preprocessor_config.json": rules.PROCESSOR,
    TRANSFORMER: rules.TRANSFORMER,
    **{
        f"sentence_{kind}_config.json": rules.TRANSFORMER
        for kind in ("roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
    },
}
_SHARDS = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
_OF_PARTS = (
    "config.json", "cnn_config.json", "lstm_config.json", "wordembedding_config.json",
    "whitespacetokenizer_config.json",
    "phrasetokenizer_config.json", "router_config.json",
)  # fmt: skip


def check_door(folder: Path) -> None:
    """Check that a model's folder holds only settings, and none that name something to run or
    fetch.

    Raises:
        InputError: a key whose value may name code, a file or another model; the message names file
            and key.
    """
    try:
        _check_encoder(folder)
        if not (folder / MODULES).is_file():
            return
        _check(folder / MODEL, rules.MODEL)
        for kind, path in module_records(folder):
            _check_module(folder / MODULES, folder, kind, path)
    except RecursionError as error:
        raise bad_input(
            folder,
            wanted="a model's settings",
            found="JSON nested too deep",
            do="give another model",
        ) from error


def module_records(folder: Path) -> list[tuple[str, str]]:
    """Return the type and path of each listed module, after checking that all are
    sentence-transformers' own and in the folder.

    Raises:
        InputError: one is not, or the list is malformed.
    """
    listed = folder / MODULES
    records = read_json(listed, what="a model's modules")
    out = []
    for record in records if isinstance(records, list) else [records]:
        if not isinstance(record, dict) or not {"type", "path"} <= record.keys():
            raise bad_input(
                listed, wanted="a list of modules", found="other JSON", do="fetch the model again"
            )
        if found := rules.offence(
            {key: value for key, value in record.items() if key not in ("type", "path")},
            rules.PLAIN,
        ):
            raise _refused(listed, *found)
        _module_name(listed, record["type"], record["path"])
        out.append((record["type"], record["path"]))
    return out


def _module_name(listed: Path, kind: Any, path: Any) -> str:
    """Return the class of a module in the file ``listed``, if it is sentence-transformers' own and
    in the folder.
    """
    found = _MODULE.fullmatch(str(kind))
    name = "Dense" if kind == _PYLATE else found[2] if found else ""
    if name not in _MODULES | _ROUTERS:
        raise _refused(listed, "type", kind)
    if not isinstance(path, str) or Path(path).is_absolute() or ".." in Path(path).parts:
        raise bad_input(
            listed, wanted="modules inside the folder", found=str(path), do="fetch the model again"
        )
    return name


def _check_module(listed: Path, folder: Path, kind: Any, path: Any) -> None:
    """Check one module of the file ``listed``, in the folder ``path`` below ``folder``."""
    name = _module_name(listed, kind, path)
    place = folder / path
    if name in _ENCODERS:
        return _check_encoder(place)
    for file in _OF_PARTS:
        record = _check(place / file, rules.ROUTER if name in _ROUTERS else rules.PART)
        if name in _ROUTERS:
            types = record.get("types") or {}
            for part, type_of_part in types.items() if isinstance(types, dict) else [("", types)]:
                _check_module(place / file, place, type_of_part, part)
    return None


def _check_encoder(folder: Path) -> None:
    """Check a transformers folder."""
    adapter = folder / "adapter_config.json"
    if adapter.exists():
        wanted, do = (
            "a whole model",
            "merge it into its model (merge_and_unload of peft), and give that",
        )
        raise bad_input(
            adapter, wanted=wanted, found="an adapter, which names another model to fetch", do=do
        )
    for name, rule in _BY_NAME.items():
        _check(folder / name, rule)
    for name in _SHARDS:
        record = _record(folder / name)
        shards = record.get("weight_map")
        for file in set(map(str, shards.values())) if isinstance(shards, dict) else ():
            if Path(file).name != file:
                raise _refused(folder / name, "weight_map", file)
    path = folder / "config.json"
    record = _record(path)
    if found := rules.config_offence(record):
        raise _refused(path, *found)
    _check_sizes(path, record, sum(file.stat().st_size for file in folder.glob("*.safetensors")))


def _check_sizes(path: Path, record: JsonObject, weights: int) -> None:
    """Check that the weights' bytes have room for each layer count and width, as a library builds
    the model before it reads them.
    """
    room = max(weights, _ROOM)
    for key, value in record.items():
        most = room // _LAYER_BYTES if key.endswith("layers") else room
        if type(value) is int and value > most and _SIZES.search(key):
            found = f"{key}: {value}"
            raise bad_input(
                path,
                wanted=f"sizes that fit {weights:,} bytes of weights",
                found=found,
                do="fetch the model again",
            )


def _check(path: Path, rule: rules.Rule) -> JsonObject:
    """Return the record of a file after checking it against a rule; an empty one if there is no
    such file.
    """
    record = _record(path)
    if found := rules.offence(record, rule):
        raise _refused(path, *found)
    return record


def _record(path: Path) -> JsonObject:
    if not path.is_file():
        return {}
    record = read_json(path, what="a model's settings")
    if not isinstance(record, dict):
        raise bad_input(
            path, wanted="a model's settings", found="other JSON", do="fetch the model again"
        )
    return record


def _refused(path: Path, key: str, value: Any) -> InputError:
    shown = repr(value)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
    return bad_input(
        path,
        wanted="settings that name no code, file or other model",
        found=f"{key}: {shown}",
        do=_DO,
    )
