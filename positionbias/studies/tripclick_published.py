"""Every figure of Tables 1 and 2 of the paper on TripClick's baselines, each with its place, to stand beside ours.

A test is the paper's where its split and judgements have the names of one of TripClick's three; no other is given a figure. What the text says
of the gain by better negatives has no figures in our copy of the paper.
"""

from __future__ import annotations

from collections.abc import Iterator

from positionbias.results.published import PublishedCell
from positionbias.results.result import Facts

__all__ = ["CELLS", "PAPER", "TESTS", "paper_test"]

PAPER = "Establishing Strong Baselines for TripClick Health Retrieval (ECIR 2022)"
TESTS = {"head": "Head (DCTR)", "torso": "Torso (RAW)", "tail": "Tail (RAW)"}
BASELINES = "original baselines"

# Table 1: line | model | what it began with | nDCG@10 and MRR@10 on head, torso, tail
_TABLE_1 = """
1  | BM25     |                     | .140 .276 | .206 .283 | .267 .258
2  | ConvKNRM |                     | .198 .420 | .243 .347 | .271 .265
3  | TK       |                     | .208 .434 | .272 .381 | .295 .280
4  | TK       |                     | .232 .472 | .300 .390 | .345 .319
5  | ColBERT  | SciBERT             | .270 .556 | .326 .426 | .374 .347
6  | ColBERT  | PubMedBERT-Abstract | .278 .557 | .340 .431 | .387 .361
7  | BERT_CAT | DistilBERT          | .272 .556 | .333 .427 | .381 .355
8  | BERT_CAT | BERT-Base           | .287 .579 | .349 .453 | .396 .366
9  | BERT_CAT | SciBERT             | .294 .595 | .360 .459 | .408 .377
10 | BERT_CAT | PubMedBERT-Full     | .298 .582 | .365 .462 | .412 .381
11 | BERT_CAT | PubMedBERT-Abstract | .296 .587 | .359 .456 | .409 .380
12 | Ensemble |                     | .303 .601 | .370 .472 | .420 .392
"""
# Table 2: line | model | what it began with | J@10 in per cent, nDCG@10, MRR@10, R@100, R@200, R@1K, on head
_TABLE_2 = """
1  | BM25     |            | 31 .140 .276 .499 .621 .834
13 | BERT_DOT | DistilBERT | 39 .236 .512 .550 .648 .813
14 | BERT_DOT | SciBERT    | 41 .243 .530 .562 .640 .793
15 | BERT_DOT | PubMedBERT | 40 .235 .509 .582 .673 .828
"""
_MODELS = {
    "BM25": "bm25",
    "ConvKNRM": "conv_knrm",
    "TK": "tk",
    "ColBERT": "colbert",
    "BERT_CAT": "bert_cat",
    "BERT_DOT": "bert_dot",
    "Ensemble": "ensemble",
}
_COLUMNS_1 = {"nDCG": "nDCG@10", "MRR": "RR@10"}
_COLUMNS_2 = {
    "J@10": "Judged@10",
    "nDCG@10": "nDCG@10",
    "MRR@10": "RR@10",
    "R@100": "R@100",
    "R@200": "R@200",
    "R@1K": "R@1000",
}


def paper_test(label: str) -> str | None:
    """Which of TripClick's tests a split is, ``SPLIT`` or ``SPLIT.JUDGEMENTS``, by its name; None for any other.

    The paper's head is judged by DCTR, torso and tail by raw clicks. In a merged collection a prefix stands before the split.

    >>> paper_test("head_test.dctr"), paper_test("trip.tail_test"), paper_test("head_test"), paper_test("test")
    ('Head (DCTR)', 'Tail (RAW)', None, None)
    """
    judged = label.endswith(".dctr")
    split = label.removesuffix(".dctr").rpartition(".")[2]
    name, _, part = split.partition("_")
    if part != "test" or name not in TESTS or judged != (name == "head"):
        return None
    return TESTS[name]


def _rows(text: str) -> Iterator[list[str]]:
    return ([part.strip() for part in line.split("|")] for line in text.strip("\n").splitlines())


def _facts(line: str, model: str, encoder: str, role: str) -> Facts:
    """What stood in the earlier paper is told apart as a variant."""
    variant = BASELINES if line in ("2", "3") else ""
    return Facts(model=_MODELS[model], pretrained=encoder, variant=variant, role="first stage" if model == "BM25" else role)


def _table_1() -> Iterator[PublishedCell]:
    for line, model, encoder, *groups in _rows(_TABLE_1):
        facts = _facts(line, model, encoder, "ensemble" if model == "Ensemble" else "re-ranker")
        for test, group in zip(TESTS.values(), groups, strict=True):
            for (column, measure), figure in zip(_COLUMNS_1.items(), group.split(), strict=True):
                place = f"Table 1, line {line}, {test}, {column}"
                yield PublishedCell(1, test, measure, float(figure), place, facts=facts, row=line)


def _table_2() -> Iterator[PublishedCell]:
    for line, model, encoder, figures in _rows(_TABLE_2):
        facts = _facts(line, model, encoder, "retriever")
        for (column, measure), figure in zip(_COLUMNS_2.items(), figures.split(), strict=True):
            value = int(figure) / 100 if column == "J@10" else float(figure)
            yield PublishedCell(2, TESTS["head"], measure, value, f"Table 2, line {line}, {column}", facts=facts, row=line)


CELLS: tuple[PublishedCell, ...] = (*_table_1(), *_table_2())
