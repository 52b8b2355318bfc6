"""Load models saved by transformers or sentence-transformers: as ours if the parts match, else
through the library.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from torch import nn

from positionbias.core.errors import SettingError, bad_input, or_closest
from positionbias.models.bert_cat import BertCat
from positionbias.models.bert_dot import BertDot
from positionbias.models.colbert import ColBERT
from positionbias.models.door import module_records
from positionbias.models.encoder import NO_LIMIT, Encoder, open_encoder
from positionbias.models.encoder_source import check_encoder_folder
from positionbias.models.encoder_template import ReadsOtherwise, check_reading
from positionbias.models.layout import (
    FAMILIES,
    OURS,
    Family,
    Layout,
    UnsupportedLayout,
    architecture,
    has_modules,
    model_facts,
    read_family,
    read_layout,
)
from positionbias.models.mono_t5 import MonoT5, load_t5
from positionbias.models.prompts import OWN, Prompts, prompts_of_files
from positionbias.models.protocols import AnyRanker
from positionbias.models.sbert import load_by_library
from positionbias.models.sentence_transformers import MODEL
from positionbias.models.shapes import BertCatConfig, BertDotConfig, MonoT5Config
from positionbias.models.tensors import load_weights

_RAW = (
    "not trained here; its scores are raw: logits before any activation, or the similarity of its "
    "vectors that it names"
)
_BARE = (
    "an encoder that no one trained to rank: {} of its last layer, compared by cosine, as "
    "sentence-transformers does by default"
)
_HEADS: Mapping[Family, str] = {
    "cross-encoder": "a classification head",
    "bi-encoder": "states to pool",
    "multi-vector": "a projection of its tokens",
    "sparse": "a masked-word head",
}
_T5 = "T5ForConditionalGeneration"
_SAYS = (
    "not trained here; its score is the log-probability of true against false, whatever it was "
    "trained for"
)


class Foreign(NamedTuple):
    """A model with its notes for a manifest, and the packages that run it."""

    model: AnyRanker
    notes: tuple[str, ...]
    packages: tuple[str, ...]


def check_model_folder(folder: Path) -> Path:
    """Return the folder if it may hold a model: with sentence-transformers' list of modules, or all
    that an encoder needs.

    Raises:
        InputError: it has neither.
    """
    if has_modules(folder) and not (folder / "config.json").is_file():
        return folder  # an encoder in a subfolder, or none at all
    return check_encoder_folder(folder)


def load_foreign(
    folder: Path, kind: str | None = None, prompts: Prompts = OWN, label: str | None = None
) -> Foreign:
    """Load the model of a checked folder. Scores are raw: logits before any activation, its own
    similarity of the vectors.

    ``kind`` adds what the files do not say (a family of ``layout.FAMILIES``, or ``mono_t5``, as a
    T5's purpose is not recorded); ``bert_cat`` or ``bert_dot`` accepts only ours. ``prompts``
    replace those of the files; ``label`` names the score of a classifier of several.

    Raises:
        InputError: not a ranker, or with unsupported parts.
        SettingError: ``kind`` contradicts the files, prompts for a model that takes none, or a
            classifier of several labels without ``label``.
        DependencyError: only sentence-transformers runs it, and it is not installed.
    """
    if kind == MonoT5.kind:
        if prompts.given:
            raise SettingError(
                f"--query-prompt and --passage-prompt: {folder} has its own words around texts; "
                "leave them out"
            )
        return Foreign(MonoT5(MonoT5Config(), load_t5(folder)).eval(), (_SAYS,), ())
    # those of others run as multi-vector models, with or without parts that ours lacks
    if kind == ColBERT.kind:
        raise SettingError(
            f"--kind: wanted multi-vector for {folder}: a {kind} is one that was trained here; "
            f"found {kind}; leave --kind out"
        )
    family = _family(folder, kind)
    notes: tuple[str, ...] = (_RAW,)
    if family == "bi-encoder" and not has_modules(folder):
        causal = architecture(folder).endswith("ForCausalLM")
        notes = (_RAW, _BARE.format("the last state" if causal else "the mean of the states"))
    try:
        if family == "cross-encoder" and prompts.given:
            raise UnsupportedLayout(
                f"--kind: a {kind} puts no prompts before its texts; leave it out", "prompts"
            )
        layout = read_layout(folder, family)
        if family == "bi-encoder":
            prompts = prompts_of_files(folder / MODEL, model_facts(folder), prompts)
            notes = (*notes, prompts.note())
        return Foreign(_ours(folder, layout, prompts), notes, ())
    except UnsupportedLayout as error:
        if kind in OURS:
            raise
        because = error.found
    # after the block, whose exception holds what was read of the model
    model = load_by_library(folder, family, because=because, prompts=prompts, label=label)
    notes = tuple(dict.fromkeys((*notes, model.prompts.note(), "run by sentence-transformers")))
    return Foreign(model, notes, ("sentence-transformers",))


def _family(folder: Path, kind: str | None) -> Family:
    """Return the family in the files, checked against the requested kind."""
    asked = cast(Family | None, OURS.get(kind, kind) if kind else None)
    said = read_family(folder)
    if asked is None:
        if said is None:
            if architecture(folder).endswith(_T5):
                do = (
                    f"give --kind {MonoT5.kind} if it was trained to answer with true or false, or "
                    "another model"
                )
                raise bad_input(
                    folder,
                    wanted="a trained model",
                    found="a T5, which does not say what it was trained for",
                    do=do,
                )
            do = (
                "give another model, or audit it untrained with --kind bi-encoder (or --kind "
                "sparse, for a SPLADE)"
            )
            raise bad_input(
                folder,
                wanted="a trained model",
                found="an encoder with no head, which no one trained to rank",
                do=do,
            )
        return said
    if asked not in FAMILIES:
        raise SettingError(
            f"--kind: wanted one of {', '.join((*FAMILIES, *OURS))} for {folder}; found {kind!r}; "
            f"{or_closest(kind, (*FAMILIES, *OURS), 'give one of these')}"
        )
    if asked != said and not _can_be(folder, asked, said):
        found = (
            f"a {said} model"
            if said
            else f"an encoder ({architecture(folder) or 'no class named'}) without {_HEADS[asked]}"
        )
        raise SettingError(
            f"--kind: wanted {folder} as a {asked} model; found {found}; leave --kind out, or give "
            "another model"
        )
    return asked


def _can_be(folder: Path, asked: Family, said: Family | None) -> bool:
    """Return True if a folder has all the weights of the requested family, so that no part of the
    model is random.
    """
    if asked == "multi-vector":  # an older ColBERT, from before its kind had a name
        return said == "bi-encoder" and any(
            kind.endswith(".Dense") for kind, _ in module_records(folder)
        )
    if has_modules(folder):
        return False
    ending = {"bi-encoder": "", "cross-encoder": "ForCausalLM", "sparse": "ForMaskedLM"}[asked]
    return architecture(folder).endswith(ending)


def _ours(folder: Path, layout: Layout, prompts: Prompts) -> BertCat | BertDot:
    def check(tokenizer: Any, config: Any) -> None:
        named = getattr(config, "max_position_embeddings", None) or 0
        positions = named if named > 0 else NO_LIMIT
        for length in {layout.query_length, layout.passage_length}:
            limit = min(length or tokenizer.model_max_length, positions)
            if limit >= NO_LIMIT:
                raise ReadsOtherwise("an encoder without a limit of length")
            check_reading(tokenizer, int(limit), texts=2 if layout.kind == "bert_cat" else 1)

    encoder = open_encoder(folder, classifier=layout.classifier, check=check)
    return (
        _cat(layout, encoder) if layout.kind == "bert_cat" else _dot(layout, encoder, prompts)
    ).eval()


def _cat(layout: Layout, encoder: Encoder) -> BertCat:
    config = BertCatConfig(
        encoder.most_tokens(layout.passage_length),
        head="transformers" if layout.classifier else "linear",
    )
    model = BertCat(config, encoder)
    if layout.dense is not None and model.head is not None:
        load_weights(nn.ModuleDict({"linear": model.head}), layout.dense)
    return model


def _dot(layout: Layout, encoder: Encoder, prompts: Prompts) -> BertDot:
    config = BertDotConfig(
        query_length=encoder.most_tokens(layout.query_length),
        passage_length=encoder.most_tokens(layout.passage_length),
        pooling=layout.pooling,
        normalize=layout.normalize,
        query_prompt=prompts.query or "",
        passage_prompt=prompts.passage or "",
    )
    return BertDot(config, encoder)
