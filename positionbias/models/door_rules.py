"""Rules for a model's settings: numbers, plain words, lists of them, and the known objects of each
kind of record.

Pure functions of records; ``door`` reads the files. Values that may name code, a file or another
model are offences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from torch import nn

from positionbias.core.json_text import Json, JsonObject
from positionbias.models.libraries import transformers_library

# one or more words: no path, repository or dotted name (dots only before a digit, as in 4.1 or
# apache-2.0)
_WORDS = re.compile(r"(?:[\w +|,-]|\.(?=\d))*")
# keys that name code or other files in any record; and keys that may, unless the model's class has
# a field of this name
_NAMES_CODE = re.compile(
    r"auto_map(ping)?|code_revision|trust_remote_code|configuration_files|fast_tokenizer_files|"
    r"transformers_weights|.*quantization_config|compression_config|parent_library|base_model_"
    r"(class|name_or_path)|device_map|(tp|pp|ep)_plan"
)
_MAY_NAME_CODE = re.compile(r"(.*_)?(custom|kernels?|plugins?|remote|adapters?|peft)(_.*)?")
_ATTENTION = ("eager", "sdpa")
_EXPERTS = ("eager", "batched_mm", "grouped_mm")
_METHOD = re.compile(r"forward|get_(text|image|audio|video|multimodal|vision)_features")
_TOKENIZERS = re.compile(r"sentence_transformers(\.\w+)*\.(Phrase|Whitespace)Tokenizer")


def _activation(value: Any) -> bool:
    """Return True if this names an activation of torch, or nothing in Python."""
    found = re.fullmatch(r"torch\.nn\.(?:modules\.(?:activation|linear)\.)?(\w+)", str(value))
    return _plain(value) or (
        found is not None and found[1] in ("Identity", *nn.modules.activation.__all__)
    )


def _tokenizer(value: Any) -> bool:
    """Return True if this names a tokenizer of transformers."""
    library = transformers_library()
    classes = library.models.auto.tokenization_auto.TOKENIZER_MAPPING_NAMES.values()
    if not isinstance(value, str) or not value.isidentifier():
        return False
    names = {str(name).removesuffix("Fast") for name in classes}
    found = getattr(library, value, None)
    is_one = isinstance(found, type) and issubclass(found, library.PreTrainedTokenizerBase)
    return value.removesuffix("Fast") in names or is_one


def _one_of(*words: str) -> Callable[[Any], bool]:
    """Return a check that a value is one of these words, or an object of such values by part of the
    model.
    """

    def check(value: Any) -> bool:
        return (
            all(map(check, value.values()))
            if isinstance(value, dict)
            else value is None or value in words
        )

    return check


_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    **{
        key: _one_of(*_ATTENTION)
        for key in ("attn_implementation", "_attn_implementation", "_attn_implementation_internal")
    },
    **{
        key: _one_of(*_EXPERTS)
        for key in (
            "experts_implementation",
            "_experts_implementation",
            "_experts_implementation_internal",
        )
    },
    "activation_fn": _activation,
    "activation_function": _activation,
    "sbert_ce_default_activation_function": _activation,
    "tokenizer_class": _tokenizer,
    # not "retrieval", whose class is whatever architecture the config names
    "transformer_task": _one_of(
        "any-to-any",
        "feature-extraction",
        "fill-mask",
        "sequence-classification",
        "text-generation",
    ),
    "method": lambda value: isinstance(value, str) and _METHOD.fullmatch(value) is not None,
}


@dataclass(frozen=True, slots=True)
class Rule:
    """The keys of a record. ``text``: keys whose text no library reads as a name. ``objects``: keys
    that may hold objects; None: all. ``fields``: keys of the record's class, which may hold objects
    too. ``keys``: the only keys allowed; None: others too, with plain words.
    """

    text: frozenset[str] = frozenset()
    objects: frozenset[str] | None = frozenset()
    fields: frozenset[str] = frozenset()
    keys: frozenset[str] | None = None
    checks: Mapping[str, Callable[[Any], bool]] = field(default_factory=lambda: _CHECKS)


_ORIGIN = frozenset(
    {"_name_or_path", "name_or_path", "transformers_version", "_commit_hash", "version"}
)
_LABELS = frozenset({"id2label", "label2id", "prefix"})
_CONFIG_OBJECTS = frozenset({
    "per_layer_config", "pruned_heads", "rope_parameters", "rope_scaling", "sentence_transformers",
    "task_specific_params",
    "transformers.js_config",
})  # fmt: skip
TOKENIZER = Rule(
    text=_ORIGIN | {
        "added_tokens_decoder", "additional_special_tokens", "chat_template", "content",
        "extra_special_tokens", "merges_file",
        "model_specific_special_tokens", "never_split", "special_tokens_map_file", "tokenizer_file",
        "vocab_file",
        "wordpieces_prefix",
    },
    objects=frozenset({"mecab_kwargs", "sp_model_kwargs"}),
)  # fmt: skip
PLAIN = Rule()
GENERATION = Rule(text=_ORIGIN | {"stop_strings"})
PROCESSOR = Rule(text=_ORIGIN | {"chat_template"}, objects=None)
MODEL = Rule(
    text=frozenset(
        {
            "__version__",
            "document_prefix",
            "prompts",
            "query_prefix",
            "requirements",
            "skiplist_words",
        }
    ),
    objects=frozenset({"query_expansion"}),
)
# the content of these objects goes to from_pretrained unchanged
_LOADING = frozenset(
    {
        "config_args",
        "config_kwargs",
        "model_args",
        "model_kwargs",
        "processor_kwargs",
        "tokenizer_args",
    }
)
_LOADED = Rule(
    keys=frozenset({
        "add_bos_token", "add_eos_token", "add_pooling_layer", "add_prefix_space",
        "attn_implementation",
        "clean_up_tokenization_spaces", "do_lower_case", "dtype", "experts_implementation",
        "is_causal", "is_decoder", "max_length",
        "max_pixels", "min_pixels", "model_max_length", "num_labels", "padding_side",
        "reference_compile", "torch_dtype",
        "truncation_side", "unpad_inputs", "use_cache", "use_fast",
    })
)  # fmt: skip
_OBJECTS = _LOADING | {"modality_config", "processing_kwargs", "query_expansion"}
_LENGTHS = frozenset({"document_length", "max_seq_length", "query_length"})
TRANSFORMER = Rule(
    objects=_OBJECTS,
    keys=_OBJECTS
    | _LENGTHS
    | {"do_lower_case", "module_output_name", "transformer_task", "unpad_inputs"},
)
PART = Rule(
    text=frozenset({"skiplist_words", "stop_words", "vocab"}),
    objects=frozenset({"word_weights"}),
    checks={
        **_CHECKS,
        "tokenizer_class": lambda value: _TOKENIZERS.fullmatch(str(value)) is not None,
    },
)
# types are checked on their own
ROUTER = Rule(text=frozenset({"structure", "types"}), objects=None)


def config_offence(record: JsonObject) -> tuple[str, Json] | None:
    """Return the first refused key of a model's config and its value, by the fields of its class
    and its parts' classes.
    """
    known_kinds = transformers_library().CONFIG_MAPPING
    kind = record.get("model_type")
    known = known_kinds[kind] if isinstance(kind, str) and kind in known_kinds else None
    own = frozenset(item.name for item in fields(known)) if known else frozenset()
    parts = set(getattr(known, "sub_configs", ()))
    for key in parts & record.keys():
        if isinstance(part := record[key], dict) and (
            found := config_offence(_typed(part, known, key))
        ):
            return f"{key}.{found[0]}", found[1]
    rule = Rule(text=_ORIGIN | _LABELS, objects=_CONFIG_OBJECTS, fields=own)
    return offence(
        {
            key: value
            for key, value in record.items()
            if key not in parts or not isinstance(value, dict)
        },
        rule,
    )


def _typed(part: JsonObject, known: Any, key: str) -> JsonObject:
    """Return a part of a config with its type, taken from the model's class where it has none."""
    return {"model_type": getattr(known.sub_configs[key], "model_type", None), **part}


def offence(record: JsonObject, rule: Rule) -> tuple[str, Json] | None:
    """Return the first key that the rule refuses, and its value."""
    for key, value in record.items():
        if rule.keys is not None and key not in rule.keys:
            return key, value
        if value is None or value is False:
            continue
        if key in rule.checks:
            if not rule.checks[key](value):
                return key, value
        elif _NAMES_CODE.fullmatch(key) or (
            _MAY_NAME_CODE.fullmatch(key) and not (_numbers(value) or key in rule.fields)
        ):
            return key, value
        elif key in rule.text or key.endswith(("_token", "_tokens")):
            continue
        elif isinstance(value, dict):
            if found := _object_offence(key, value, rule):
                return found
        elif not _plain(value):
            return key, value
    return None


def _object_offence(key: str, value: JsonObject, rule: Rule) -> tuple[str, Json] | None:
    """Return the first offence within an object; an object of only numbers has none, whatever its
    keys.
    """
    numbers = all(isinstance(item, int | float) for item in value.values())
    if not (numbers or rule.objects is None or key in rule.objects | rule.fields):
        return key, value
    loaded = rule is TRANSFORMER and key in _LOADING
    found = offence(
        value,
        _LOADED
        if loaded
        else Rule(text=rule.text | _LABELS | _ORIGIN, objects=None, checks=rule.checks),
    )
    return (f"{key}.{found[0]}", found[1]) if found else None


def _numbers(value: Any) -> bool:
    """Return True for a number, None, or a list of them, as the kernel sizes of a convolution, but
    not for a boolean.
    """
    return (
        all(map(_numbers, value))
        if isinstance(value, list)
        else isinstance(value, int | float) and value is not True
    )


def _plain(value: Any) -> bool:
    """Return True for a number, words, or a list of them."""
    if isinstance(value, str):
        return _WORDS.fullmatch(value) is not None
    if isinstance(value, dict):
        # transformers' form of infinity
        return value.keys() == {"__float__"} and _plain(value["__float__"])
    return (
        all(map(_plain, value))
        if isinstance(value, list)
        else isinstance(value, int | float | None)
    )
