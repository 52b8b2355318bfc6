"""The shapes of our models, the settings stored beside their weights, and a record of each kind.

A new kind needs a shape and a record here, and its module. Nothing here imports torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

from positionbias.core.errors import SettingError
from positionbias.core.settings import Settings, check_settings, flag_of, setting

Positions = Literal["sinusoid", "none", "relative"]
POSITIONS: tuple[Positions, ...] = get_args(Positions)
Head = Literal["linear", "relevance", "transformers"]
Pooling = Literal["cls", "mean"]
Similarity = Literal["dot", "cosine"]


class _Shape(Settings):
    """A shape whose fields are checked when it is made.

    Raises:
        SettingError: a field is outside its range; the message names its flag.
    """

    SHOWN = False

    __slots__ = ()


def _size(default: int, help: str) -> Any:
    return setting(default, help, least=1)


_WIDTH = "Width of word vectors."


@dataclass(frozen=True, slots=True)
class TKConfig(_Shape):
    """TK's shape.

    ``positions``: ``sinusoid`` (the paper), ``none``, or ``relative`` (Shaw et al. 2018, up to
    ``relative_distance`` words apart; 16 as there).
    """

    dimension: int = _size(300, _WIDTH)
    layers: int = _size(2, "Transformer layers.")
    heads: int = _size(16, "Attention heads of a layer.")
    head_size: int = _size(32, "Width of a head.")
    feed_forward: int = _size(100, "Width of a layer's feed-forward part.")
    positions: Positions = setting(
        "sinusoid",
        "What contextualisation knows of a word's place: sinusoid, the paper's, added to its "
        "vector; none, so that the order of words does not count; relative, the distances between "
        "words.",
        choices=POSITIONS,
    )
    relative_distance: int = _size(16, "Largest distance in words, with --positions relative.")
    query_length: int = _size(30, "Words read of a query.")
    passage_length: int = _size(200, "Words read of a passage.")

    def __post_init__(self) -> None:
        check_settings(self)
        if self.dimension % 2 or self.dimension < 4:
            raise SettingError(
                f"--dimension: wanted an even number from 4; found {self.dimension}; positions "
                "need two halves"
            )


@dataclass(frozen=True, slots=True)
class KNRMConfig(_Shape):
    """KNRM's shape (the paper's §4.4)."""

    dimension: int = _size(300, _WIDTH)
    query_length: int = _size(30, "Words read of a query.")
    passage_length: int = _size(200, "Words read of a passage.")


@dataclass(frozen=True, slots=True)
class ConvKNRMConfig(_Shape):
    """ConvKNRM's shape (the paper's §4): n-grams of 1 … ``longest_ngram`` words, ``filters`` wide,
    and KNRM's kernels.
    """

    dimension: int = _size(300, _WIDTH)
    longest_ngram: int = _size(3, "Words of the longest n-gram; all are compared.")
    filters: int = _size(128, "Filters of each length, the width of an n-gram.")
    query_length: int = _size(30, "Words read of a query.")
    passage_length: int = _size(200, "Words read of a passage.")


@dataclass(frozen=True, slots=True)
class DuetConfig(_Shape):
    """Duet's shape: the paper's (§2.3, Figure 4), except for passages of 200 words instead of
    documents of 1,000.

    ``window``: words that a filter of the distributed model reads; ``pooling_window``: places that
    are pooled together in a passage.
    """

    filters: int = _size(300, "Filters, and width of every layer.")
    ngraphs: int = _size(2_000, "Number of 1- to 5-graphs, the most frequent.")
    query_length: int = _size(10, "Words read of a query.")
    passage_length: int = _size(200, "Words read of a passage.")
    window: int = _size(3, "Words that a filter over n-graphs sees.")
    pooling_window: int = _size(100, "Places of a passage that are pooled together.")

    def __post_init__(self) -> None:
        check_settings(self)
        for name, least in (
            ("query_length", self.window),
            ("passage_length", self.window + self.pooling_window - 1),
        ):
            if getattr(self, name) < least:
                raise SettingError(
                    f"{flag_of(name)}: wanted at least the {least} words of a window; found "
                    f"{getattr(self, name)}; raise it, or lower --window or --pooling-window"
                )

    @property
    def windows(self) -> int:
        """The number of pooling windows of a passage."""
        return self.passage_length - self.window + 1 - self.pooling_window + 1


@dataclass(frozen=True, slots=True)
class PACRRConfig(_Shape):
    """PACRR's shape, with the paper's symbols: ``query_length`` l_q, ``passage_length`` l_d (its
    "firstk": later words are not read; the paper's documents have 800), ``longest_window`` l_g,
    ``filters`` n_f, ``strongest`` n_s.
    """

    dimension: int = _size(300, _WIDTH)
    longest_window: int = _size(3, "Words of the largest filter's sides.")
    filters: int = _size(32, "Filters of a size.")
    strongest: int = _size(3, "Signals kept of a query word and a size.")
    query_length: int = _size(16, "Words read of a query.")
    passage_length: int = _size(200, "Words read of a passage.")


@dataclass(frozen=True, slots=True)
class BertCatConfig(_Shape):
    """BERT_CAT's shape. ``pair_length`` counts special tokens; the longer text of a pair is cut
    first.

    ``head`` is ``linear`` (the paper's); ``relevance``, two logits, not relevant and relevant,
    whose score is the log-probability of relevant (monoBERT, Nogueira et al. 2019); or
    ``transformers``: the head of a loaded sequence classifier with one label.
    """

    pair_length: int = _size(230, "Word pieces read of a query and a passage.")
    head: Head = "linear"

    @property
    def log_probabilities(self) -> bool:
        """True if scores are log-probabilities of "relevant"."""
        return self.head == "relevance"


@dataclass(frozen=True, slots=True)
class BertDotConfig(_Shape):
    """BERT_DOT's shape. Lengths count special tokens. The paper's vector is the raw [CLS], not
    normalised.

    Prompts precede each text, as some published bi-encoders expect.
    """

    query_length: int = _size(30, "Word pieces read of a query.")
    passage_length: int = _size(200, "Word pieces read of a passage.")
    pooling: Pooling = setting(
        "cls",
        "A text's vector: that of [CLS], or the mean over its tokens.",
        choices=get_args(Pooling),
    )
    normalize: bool = setting(False, "Vectors of length 1: cosines.")
    query_prompt: str = ""
    passage_prompt: str = ""


@dataclass(frozen=True, slots=True)
class ColBERTConfig(_Shape):
    """ColBERT's shape. Lengths count special tokens, which are terms like any other.

    ``dimension`` 768 is the reference's; the original ColBERT has 128. ``similarity`` ``dot``
    compares the raw vectors, from a linear layer with a bias [reference]; ``cosine`` compares unit
    vectors, from a layer without one (the original's). As in the reference, there are none of the
    original's markers, [MASK] tokens after a query and removal of punctuation.
    """

    dimension: int = _size(768, "Width of a term's vector; the original has 128.")
    similarity: Similarity = setting(
        "dot",
        "Of two terms: the dot product of their vectors as they are, or their cosine, as the "
        "original has it.",
        choices=get_args(Similarity),
    )
    query_length: int = _size(30, "Word pieces read of a query.")
    passage_length: int = _size(200, "Word pieces read of a passage.")


@dataclass(frozen=True, slots=True)
class MonoT5Config(_Shape):
    """monoT5's shape. ``pair_length`` counts all tokens; if a pair is longer, its passage is
    cut.
    """

    pair_length: int = _size(512, "Word pieces read of a query and a passage.")

    log_probabilities: ClassVar[bool] = True


Beginning = Literal["words", "n-graphs", "encoder"]


class Kind(NamedTuple):
    """A kind of model.

    ``module`` and ``model`` name its class. ``beginning`` is what a new model starts from: a
    collection's words and their vectors, the words' n-graphs, or an encoder, by default
    ``encoder``. ``learning_rate`` is that of its body. The first paragraph of ``about`` stands in
    the help of training.
    """

    module: str
    model: str
    shape: type
    beginning: Beginning
    learning_rate: float
    about: str
    encoder: str = ""


_BERT = "distilbert-base-uncased"  # the papers'
# rates: TK's and those over BERT are of the position-bias paper (§3); monoT5's paper has 1e-3, with
# Adafactor: that is much for Adam [decision]; KNRM's, ConvKNRM's and PACRR's are of their authors
# (Adam); Duet's paper has plain gradient descent, so its rate is theirs [decision]
KINDS = {
    "tk": Kind(
        "tk",
        "TK",
        TKConfig,
        "words",
        1e-4,
        "TK: words contextualised by Transformers, kernel pooling.\n\nA pairwise hinge loss, "
        "stopped early on validation nDCG@10.",
    ),
    "bert_cat": Kind(
        "bert_cat",
        "BertCat",
        BertCatConfig,
        "encoder",
        7e-6,
        "BERT_CAT: query and passage read together.\n\n"
        "Stopped early on validation nDCG@10. With --loss pointwise it is monoBERT: two logits, "
        "relevant and not, and the score is the log-probability of relevant.",
        _BERT,
    ),
    "bert_dot": Kind(
        "bert_dot",
        "BertDot",
        BertDotConfig,
        "encoder",
        7e-6,
        "BERT_DOT: a vector a text, by one encoder.\n\nA pairwise hinge loss, stopped early on "
        "validation nDCG@10.",
        _BERT,
    ),
    "knrm": Kind(
        "knrm",
        "KNRM",
        KNRMConfig,
        "words",
        1e-3,
        "KNRM: cosines of word vectors, kernel pooling.\n\n"
        "The model of Xiong et al. (2017), with the losses and the early stopping of TK, which has "
        "Transformers before the kernels.",
    ),
    "duet": Kind(
        "duet",
        "Duet",
        DuetConfig,
        "n-graphs",
        1e-3,
        "Duet: exact matches beside character n-graphs of words.\n\n"
        "The model of Mitra, Diaz and Craswell (2017). The n-graphs are those of the collection's "
        "words, and are kept in the checkpoint. --passage-length 1000 is the paper's.",
    ),
    "pacrr": Kind(
        "pacrr",
        "PACRR",
        PACRRConfig,
        "words",
        1e-3,
        "PACRR: convolutions over cosines, an LSTM over the query.\n\n"
        "The model of Hui et al. (2017). The IDF of words is counted in the collection, and is "
        "kept in the checkpoint. The paper's word vectors are not learned.",
    ),
    "conv_knrm": Kind(
        "conv_knrm",
        "ConvKNRM",
        ConvKNRMConfig,
        "words",
        1e-3,
        "ConvKNRM: KNRM over n-grams, made by convolutions.\n\n"
        "The model of Dai et al. (2018). N-grams of each length are compared with those of every "
        "length.",
    ),
    "colbert": Kind(
        "colbert",
        "ColBERT",
        ColBERTConfig,
        "encoder",
        7e-6,
        "ColBERT: a vector a word piece; the best matches are summed.\n\n"
        "Stopped early on validation nDCG@10. sentence-transformers' MultiVectorEncoder loads what "
        "is trained.",
        _BERT,
    ),
    "mono_t5": Kind(
        "mono_t5",
        "MonoT5",
        MonoT5Config,
        "encoder",
        1e-4,
        "monoT5: a T5 that answers true or false for each passage.\n\n"
        "Stopped early on validation nDCG@10. The paper trained with Adafactor at 1e-3; here it is "
        "Adam, at 1e-4.",
        "t5-base",
    ),
}
