"""The kinds of model there are, by name; a kind's module is imported when one is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from positionbias.core.errors import SettingError

if TYPE_CHECKING:
    from positionbias.models.protocols import Ranker

__all__ = [
    "KINDS",
    "Beginning",
    "begins_with",
    "config_class",
    "has_term_vectors",
    "model_class",
    "model_over",
    "scores_log_probabilities",
]

# name -> (module, class of the model, class of its shape)
KINDS = {
    "tk": ("positionbias.models.tk", "TK", "TKConfig"),
    "bert_cat": ("positionbias.models.bert_cat", "BertCat", "BertCatConfig"),
    "bert_dot": ("positionbias.models.bert_dot", "BertDot", "BertDotConfig"),
    "knrm": ("positionbias.models.knrm", "KNRM", "KNRMConfig"),
    "duet": ("positionbias.models.duet", "Duet", "DuetConfig"),
    "pacrr": ("positionbias.models.pacrr", "PACRR", "PACRRConfig"),
    "conv_knrm": ("positionbias.models.conv_knrm", "ConvKNRM", "ConvKNRMConfig"),
    "colbert": ("positionbias.models.colbert", "ColBERT", "ColBERTConfig"),
    "mono_t5": ("positionbias.models.mono_t5", "MonoT5", "MonoT5Config"),
}

Beginning = Literal["words", "n-graphs", "encoder"]
_BEGINNINGS: dict[str, Beginning] = {**dict.fromkeys(("tk", "knrm", "conv_knrm", "pacrr"), "words"), "duet": "n-graphs"}


def model_class(kind: str) -> type[Ranker]:
    """The class of a kind.

    Raises:
        SettingError: there is no such kind.
    """
    return _attribute(kind, 1)


def config_class(kind: str) -> type:
    """The dataclass of a kind's shape.

    Raises:
        SettingError: there is no such kind.
    """
    return _attribute(kind, 2)


def model_over(kind: str, shape: Any, name: str) -> Ranker:
    """A new model of a kind that begins with pretrained weights: those of an encoder or T5 (a folder, a hub id, ``minilm``).

    Raises:
        InputError: these cannot be used.
        SettingError: the shape asks for more than they have.
    """
    return model_class(kind).over(shape, name)  # type: ignore[attr-defined,no-any-return]


def begins_with(kind: str) -> Beginning:
    """What a new model of a kind is made from: a collection's words and vectors of theirs, its words' n-graphs, or an encoder."""
    return _BEGINNINGS.get(kind, "encoder")


def has_term_vectors(kind: str) -> bool:
    """Whether models of a kind are a ``TermEncoder``."""
    return kind in KINDS and hasattr(model_class(kind), "term_vectors")


def scores_log_probabilities(kind: str, shape: Any = None) -> bool:
    """Whether a model scores by the log-probability of "relevant"; ``shape`` None is the kind's own."""
    return bool(getattr(config_class(kind)() if shape is None else shape, "log_probabilities", False))


def _attribute(kind: str, place: int) -> Any:
    if kind not in KINDS:
        raise SettingError(f"model: wanted one of {', '.join(KINDS)}; found {kind!r}; give one of these")
    return getattr(import_module(KINDS[kind][0]), KINDS[kind][place])
