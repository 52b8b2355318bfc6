"""The kinds of model, one record each; a new kind needs a shape, a module and a record here.

A kind's module, which imports torch, is imported on demand.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from positionbias.core.errors import SettingError
from positionbias.core.settings import Setting
from positionbias.models.shapes import (
    BertCatConfig,
    BertDotConfig,
    ColBERTConfig,
    ConvKNRMConfig,
    DuetConfig,
    KNRMConfig,
    MonoT5Config,
    PACRRConfig,
    TKConfig,
)

if TYPE_CHECKING:
    from positionbias.models.protocols import Ranker

__all__ = [
    "KINDS",
    "READ_AS",
    "Beginning",
    "Kind",
    "begins_with",
    "config_class",
    "has_term_vectors",
    "kind_named",
    "learning_rates",
    "model_class",
    "model_over",
    "scores_log_probabilities",
]

Beginning = Literal["words", "n-graphs", "encoder"]


class Kind(NamedTuple):
    """A kind of model.

    ``module`` and ``model`` locate its class. ``beginning`` is what a new model is made from: a collection's words and
    their vectors, its words' n-graphs, or an encoder, by default ``encoder``, of the ``sources`` that its option names.
    ``learning_rate`` is that of its body. ``about`` is the help of its training command.
    """

    module: str
    model: str
    shape: type
    beginning: Beginning
    learning_rate: float
    about: str
    encoder: str = ""
    sources: str = "What to start from: a folder, a Hugging Face id, or minilm (a pip package)."


_BERT = "distilbert-base-uncased"  # the papers'
# rates: TK's and those over BERT are from the position-bias paper (§3); monoT5's paper has 1e-3 with Adafactor, too high for Adam [decision];
# KNRM's, ConvKNRM's and PACRR's are their authors' (Adam); Duet's paper has plain gradient descent, so its rate is theirs [decision]
KINDS = {
    "tk": Kind(
        "tk",
        "TK",
        TKConfig,
        "words",
        1e-4,
        "TK on COLLECTION with a pairwise hinge loss, stopped early on validation nDCG@10.",
    ),
    "bert_cat": Kind(
        "bert_cat",
        "BertCat",
        BertCatConfig,
        "encoder",
        7e-6,
        "BERT_CAT on COLLECTION: query and passage read together. Stopped early on validation nDCG@10.\n\n"
        "With --loss pointwise it is monoBERT: two logits, relevant and not, and the score is the log-probability of relevant.",
        _BERT,
    ),
    "bert_dot": Kind(
        "bert_dot",
        "BertDot",
        BertDotConfig,
        "encoder",
        7e-6,
        "BERT_DOT on COLLECTION: a vector a text, one encoder. Pairwise hinge loss, stopped early on validation nDCG@10.",
        _BERT,
    ),
    "knrm": Kind(
        "knrm",
        "KNRM",
        KNRMConfig,
        "words",
        1e-3,
        "KNRM on COLLECTION: word vectors' cosines, kernel pooling (Xiong et al. 2017).\n\n"
        "With the same losses and the same early stopping as TK, which has Transformers before the kernels.",
    ),
    "duet": Kind(
        "duet",
        "Duet",
        DuetConfig,
        "n-graphs",
        1e-3,
        "Duet on COLLECTION: exact matches beside words' letters (Mitra, Diaz and Craswell 2017).\n\n"
        "The n-graphs are those of the collection's words, and are kept in the checkpoint. --passage-length 1000 is the paper's.",
    ),
    "pacrr": Kind(
        "pacrr",
        "PACRR",
        PACRRConfig,
        "words",
        1e-3,
        "PACRR on COLLECTION: convolutions over cosines, and an LSTM over the query (Hui et al. 2017).\n\n"
        "The IDF of words is counted in the collection, and is kept in the checkpoint. The paper's word vectors are not learned.",
    ),
    "conv_knrm": Kind(
        "conv_knrm",
        "ConvKNRM",
        ConvKNRMConfig,
        "words",
        1e-3,
        "ConvKNRM on COLLECTION: KNRM over n-grams that convolutions make of the words (Dai et al. 2018).\n\n"
        "N-grams of each length are compared with those of every length.",
    ),
    "colbert": Kind(
        "colbert",
        "ColBERT",
        ColBERTConfig,
        "encoder",
        7e-6,
        "ColBERT on COLLECTION: a vector a word piece, one encoder; each of the query's with its best match, summed.\n\n"
        "Stopped early on validation nDCG@10. sentence-transformers' MultiVectorEncoder loads what is trained.",
        _BERT,
    ),
    "mono_t5": Kind(
        "mono_t5",
        "MonoT5",
        MonoT5Config,
        "encoder",
        1e-4,
        "monoT5 on COLLECTION: a T5 that answers true or false, each passage for itself. Stopped early on validation nDCG@10.\n\n"
        "The paper trained with Adafactor at 1e-3; here it is Adam, at 1e-4.",
        "t5-base",
        "The T5 to start from, decoder and all: a folder, or a Hugging Face id.",
    ),
}
READ_AS = Setting(
    "What the model is, where its files do not say: bi-encoder for a plain encoder, mono_t5 for a T5.",
    choices=("cross-encoder", "bi-encoder", "multi-vector", "sparse", *KINDS),
    absent="what its files say",
)


def kind_named(name: str) -> Kind:
    """Return a kind's record.

    Raises:
        SettingError: there is no such kind.
    """
    if name not in KINDS:
        raise SettingError(f"model: wanted one of {', '.join(KINDS)}; found {name!r}; give one of these")
    return KINDS[name]


def learning_rates() -> dict[float, list[str]]:
    """Return the kinds by learning rate."""
    rates: dict[float, list[str]] = {}
    for name, kind in KINDS.items():
        rates.setdefault(kind.learning_rate, []).append(name)
    return rates


def model_class(kind: str) -> type[Ranker]:
    """Return the class of a kind.

    Raises:
        SettingError: there is no such kind.
    """
    found = kind_named(kind)
    made: type[Ranker] = getattr(import_module(f"positionbias.models.{found.module}"), found.model)
    return made


def config_class(kind: str) -> Any:
    """Return the dataclass of a kind's shape.

    Raises:
        SettingError: there is no such kind.
    """
    return kind_named(kind).shape


def model_over(kind: str, shape: Any, name: str) -> Ranker:
    """Make a new model of a kind over pretrained weights of an encoder or T5 (a folder, a hub id, ``minilm``).

    Raises:
        InputError: the weights cannot be used.
        SettingError: the shape needs more than they have.
    """
    return model_class(kind).over(shape, name)  # type: ignore[attr-defined,no-any-return]


def begins_with(kind: str) -> Beginning:
    """Return what a new model of a kind is made from; an encoder for unknown kinds."""
    return KINDS[kind].beginning if kind in KINDS else "encoder"


def has_term_vectors(kind: str) -> bool:
    """Return True if models of a kind are a ``TermEncoder``."""
    return kind in KINDS and hasattr(model_class(kind), "term_vectors")


def scores_log_probabilities(kind: str, shape: Any = None) -> bool:
    """Return True if a model scores by the log-probability of "relevant"; ``shape`` None is the kind's default."""
    return bool(getattr(config_class(kind)() if shape is None else shape, "log_probabilities", False))
