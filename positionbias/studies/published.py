"""What a paper prints beside a study's results; and every figure of the position-bias paper's Tables 1 to 5, each with its place.

The paper calls rotated passages "debiased", and prints Δ = (debiased − original) / debiased.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from positionbias.pooling import published as pooling
from positionbias.report.load import Study
from positionbias.report.parts import parts
from positionbias.report.published import Published
from positionbias.results.collections import PassageFigures
from positionbias.results.pools import PublishedTask
from positionbias.results.published import DELTA, DEVIATION, PublishedCell
from positionbias.results.result import Facts
from positionbias.results.select import of_type

__all__ = ["CELLS", "PAPER", "published_for"]

PAPER = "Mitigating the Position Bias of Transformer Models in Passage Re-Ranking (ECIR 2021)"
MS_MARCO, SQUAD = "MS MARCO", "SQuAD 2.0"
# what made a collection → the paper's collection that it is, whole or in part
COLLECTIONS = {"import msmarco": MS_MARCO, "import squad": SQUAD}
PRETRAINED = {
    "bert_cat": "6-layer DistilBERT",
    "bert_dot": "6-layer DistilBERT",
    "tk": "GloVe vectors (42B tokens, 300 wide)",
}

_MODELS = {"BERT_CAT": "bert_cat", "BERT_DOT": "bert_dot", "TK": "tk"}
_TEXTS = {"Original": "original", "Debiased": "rotated"}
_MEASURES = {"nDCG": "nDCG@10", "MRR": "RR@10", "Recall": "R@10"}

_TABLE_1 = {  # documents; training, validation and test queries
    MS_MARCO: (8_841_823, 502_939, 6_980, 48_598),
    SQUAD: (20_239, 86_821, 5_000, 5_928),
}

_TABLE_2 = {  # training → for each collection MATS and its deviation
    "Original": {MS_MARCO: (0.176, 0.046), SQUAD: (0.056, 0.014)},
    "Debiased": {MS_MARCO: (0.021, 0.006), SQUAD: (0.007, 0.002)},
}

# Model | training | nDCG: original, debiased, Δ in per cent | MRR: the same | Recall: the same
_TABLE_3 = """
BERT_CAT | Original | 0.432 0.395  -9.4 | 0.372 0.336 -10.7 | 0.630 0.594  -6.1
BERT_CAT | Debiased | 0.416 0.415  -0.2 | 0.357 0.355  -0.6 | 0.617 0.617   0.0
BERT_DOT | Original | 0.373 0.329 -13.4 | 0.316 0.276 -14.5 | 0.567 0.509 -11.4
BERT_DOT | Debiased | 0.362 0.364  +0.6 | 0.305 0.307  +0.7 | 0.555 0.554  -0.2
TK       | Original | 0.371 0.307 -20.8 | 0.312 0.254 -22.8 | 0.567 0.484 -17.1
TK       | Debiased | 0.356 0.355  -0.3 | 0.298 0.296  -0.7 | 0.551 0.552  +0.2
"""

_TABLE_4 = """
BERT_CAT | Original | 0.908 0.902  -0.7 | 0.892 0.884  -0.9 | 0.957 0.956  -0.1
BERT_CAT | Debiased | 0.910 0.905  -0.6 | 0.894 0.885  -1.0 | 0.959 0.956  -0.3
BERT_DOT | Original | 0.780 0.783  +0.4 | 0.734 0.738  +0.5 | 0.924 0.919  -0.5
BERT_DOT | Debiased | 0.784 0.783  -0.1 | 0.740 0.739  -0.1 | 0.919 0.919   0.0
TK       | Original | 0.846 0.840  -0.7 | 0.818 0.811  -0.9 | 0.933 0.930  -0.3
TK       | Debiased | 0.848 0.844  -0.5 | 0.820 0.816  -0.5 | 0.932 0.931  -0.1
"""

# Model | what it was trained on | row's letter | nDCG, MRR, Recall with the letters of the rows that it is better than
_TABLE_5 = """
BERT_CAT | SQuAD(Original)                 | a | 0.908   0.892   0.957
BERT_CAT | MS(Original) → SQuAD(Original)  | b | 0.913   0.898   0.957
BERT_CAT | MS(Debiased) → SQuAD(Original)  | c | 0.911   0.896   0.958
BERT_DOT | SQuAD(Original)                 | a | 0.780   0.734   0.924
BERT_DOT | MS(Original) → SQuAD(Original)  | b | 0.788a  0.744a  0.922
BERT_DOT | MS(Debiased) → SQuAD(Original)  | c | 0.792ab 0.748ab 0.927b
TK       | SQuAD(Original)                 | a | 0.846   0.818   0.933
TK       | MS(Original) → SQuAD(Original)  | b | 0.854a  0.827a  0.936
TK       | MS(Debiased) → SQuAD(Original)  | c | 0.857ab 0.832ab 0.937
"""


def _rows(text: str) -> Iterator[list[str]]:
    return ([part.strip() for part in line.split("|")] for line in text.strip().splitlines())


def _table_1() -> Iterator[PublishedCell]:
    for collection, (documents, *queries) in _TABLE_1.items():
        place = f"Table 1, {collection} row"
        yield PublishedCell(1, collection, "passages", documents, f"{place}, # Docs.")
        for split, column, number in zip(("train", "validation", "test"), ("Train", "Val.", "Test"), queries, strict=True):
            yield PublishedCell(1, collection, "queries", number, f"{place}, # Queries, {column}", split)


def _table_2() -> Iterator[PublishedCell]:
    for training, figures in _TABLE_2.items():
        facts = Facts(model="tk", training=_TEXTS[training], test="original")
        for collection, values in figures.items():
            place = f"Table 2, {training} row, {collection.removesuffix(' 2.0')}"
            for measure, column, value in zip(("MATS", f"MATS {DEVIATION}"), ("MATS", "Std.dev."), values, strict=True):
                yield PublishedCell(2, collection, measure, value, f"{place}, {column}", facts=facts)


def _table_3_or_4(table: int, collection: str, text: str) -> Iterator[PublishedCell]:
    for model, training, *groups in _rows(text):
        trained = Facts(model=_MODELS[model], training=_TEXTS[training])
        for (column, measure), group in zip(_MEASURES.items(), groups, strict=True):
            place = f"Table {table}, {model}, {training} row, {column}"
            *means, delta = map(float, group.split())
            for word, test, value in zip(("Orig.", "Deb."), ("original", "rotated"), means, strict=True):
                facts = Facts(model=trained.model, training=trained.training, test=test)
                yield PublishedCell(table, collection, measure, value, f"{place}, {word}", "test", facts)
            # rounded: -9.4 / 100 is not the float that -0.094 is
            yield PublishedCell(table, collection, f"{measure} {DELTA}", round(delta / 100, 4), f"{place}, Δ", "test", trained)


def _table_5() -> Iterator[PublishedCell]:
    for model, trained_on, letter, figures in _rows(_TABLE_5):
        first = re.match(r"MS\((\w+)\) →", trained_on)
        facts = Facts(
            model=_MODELS[model],
            training="original",
            test="original",
            source=MS_MARCO if first else "",
            source_training=_TEXTS[first[1]] if first else "",
        )
        for (column, measure), figure in zip(_MEASURES.items(), figures.split(), strict=True):
            value = figure.rstrip("abc")
            place = f"Table 5, {model}, row {letter}, {column}"
            yield PublishedCell(5, SQUAD, measure, float(value), place, "test", facts, letter, figure.removeprefix(value))


CELLS: tuple[PublishedCell, ...] = (
    *_table_1(),
    *_table_2(),
    *_table_3_or_4(3, MS_MARCO, _TABLE_3),
    *_table_3_or_4(4, SQUAD, _TABLE_4),
    *_table_5(),
)


def published_for(study: Study) -> Published | None:
    """The cells of the paper that a study repeats, for those of its collections that are the paper's; None where none is.

    A collection made from another (rotated, sampled, selected, planted) is not the position-bias paper's, and gets no figure of it.
    """
    for part in parts():
        if part.published is not None and (found := part.published(study.results)):
            return found
    if recognised := of_type(study.results, PublishedTask):
        return Published(pooling.PAPER, pooling.CELLS, {result.collection: own.task for result, own in recognised})
    names = {}
    for result, figures in of_type(study.results, PassageFigures):
        if (command := figures.manifest.command) in COLLECTIONS:
            names[result.collection] = COLLECTIONS[command]
    return Published(PAPER, CELLS, names, PRETRAINED) if names else None
