"""Every figure of the leakage paper's Tables 1 to 8, with its place, for comparison with ours.

Only a target with the topics of one of the paper's three collections has figures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from positionbias.leakage.labels import DIFFERENT
from positionbias.results.leakage import OFFSET, RANK, SCORE, WITH, WITHOUT
from positionbias.results.leakage_pairs import (
    PAPER,
    CandidateCounts,
    LabelCounts,
    PublishedReview,
    TopicsAndQueries,
)
from positionbias.results.published import DEVIATION, PublishedCell
from positionbias.results.result import Facts

__all__ = ["CELLS", "CONDITIONS", "PAPER", "TARGETS", "published_candidates", "published_review", "target_of"]

TARGETS = ("Robust04", "Core 2017", "Core 2018")  # the spelling of Table 1
CONDITIONS = {"no": "no leakage", "msm": "MSM leakage", "test": "test leakage"}  # kind of training set → its name in results

_MODELS = {"Duet": "duet", "KNRM": "knrm", "monoBERT": "bert_cat", "monoT5": "mono_t5", "PACRR": "pacrr"}
_MEASURES = {"nDCG@10": "nDCG@10", "MFR": "MFR", "Prec@1": "P@1"}

_ROBUST04 = frozenset(map(str, (*range(301, 451), *range(601, 701))))
_WITHOUT_RELEVANT = {"672"}  # of Robust04, judged without a relevant document: left out of many copies
_CORE_2017 = frozenset(
    (
        "307 310 321 325 330 336 341 344 345 347 350 353 354 355 356 362 363 367 372 375 378 379 389 393 394 "
        "397 399 400 404 408 414 416 419 422 423 426 427 433 435 436 439 442 443 445 614 620 626 646 677 690"
    ).split()
)
_CORE_2018 = frozenset(
    "321 336 341 347 350 362 363 367 375 378 393 397 400 408 414 422 426 427 433 439 442 445 626 646 690".split()
) | frozenset(map(str, range(801, 826)))

# field | for each target: topics and queries of MS MARCO, topics and queries of MS MARCO and ORCAS
_TABLE_1 = """
Title       | 33  83 140 1775 | 2 12 23 176 | 2  2 21 110
Description |  2   3   8   50 | 0  0  0   0 | 0  0  1   2
Variants    | 45 116 167 3356 | 6 16 38 602 | 9 26 38 973
5pt. Union  | 53 151 181 3960 | 7 18 38 645 | 9 26 38 973
"""
_FIELDS = {"Title": "title", "Description": "description", "Variants": "variant", "5pt. Union": "union"}

_TABLE_2A = {  # of candidates labelled as leaks, and of others: queries, topics
    "Robust04": ((648, 172), (93, 53)),
    "Core 2017": ((138, 37), (21, 11)),
    "Core 2018": ((157, 38), (19, 7)),
}
_TABLE_2B = {"identical": 187, "generalization": 124, "specialization": 228, "reformulation": 182, DIFFERENT: 106}

# model | nDCG@10 of no, MSM and test leakage | MFR | Prec@1; † is significant against no leakage
_TABLES_3_TO_5 = (
    """
Duet     | 0.201  0.198  0.224† | 2.420  2.682  2.340  | 0.297  0.261  0.304
KNRM     | 0.194  0.214† 0.309† | 2.348  2.309  1.976† | 0.293  0.313  0.329
monoBERT | 0.394  0.373† 0.396  | 1.688  1.725  1.639  | 0.434  0.454  0.414
monoT5   | 0.461  0.457  0.478† | 1.443  1.416  1.417  | 0.562  0.578  0.590
PACRR    | 0.382  0.364† 0.391  | 1.663  1.604  1.579† | 0.458  0.462  0.502
""",
    """
Duet     | 0.374  0.373  0.376  | 1.620  1.512  1.485  | 0.500  0.480  0.540
KNRM     | 0.316  0.343† 0.330  | 1.587  1.512  1.568  | 0.480  0.520  0.480
monoBERT | 0.402  0.407  0.419  | 1.625  1.605  1.634  | 0.480  0.460  0.460
monoT5   | 0.445  0.464  0.490† | 1.363  1.384  1.359  | 0.660  0.620  0.680
PACRR    | 0.406  0.403  0.413  | 1.390  1.515  1.546  | 0.540  0.520  0.580
""",
    """
Duet     | 0.285  0.301  0.295  | 1.993  1.812  2.231  | 0.320  0.380  0.260
KNRM     | 0.201  0.256† 0.238† | 3.099  2.768  3.125  | 0.100  0.160  0.140
monoBERT | 0.364  0.380  0.366  | 1.810  1.683  1.719  | 0.460  0.560  0.460
monoT5   | 0.417  0.448  0.445  | 1.577  1.503  1.512  | 0.480  0.540  0.540
PACRR    | 0.376  0.406  0.393  | 1.649  1.383† 1.485  | 0.520  0.560  0.540
""",
)
# leak | model | for each target: mean and deviation with leakage, mean and deviation without
_TABLE_6 = """
MSM  | Duet     | 41.70 45.88 46.79 46.51 | 34.52 32.67 35.98 32.93 | 43.39 33.52 45.67 32.99
MSM  | KNRM     | 82.36 31.88 84.74 30.15 | 43.24 31.74 43.68 31.50 | 53.12 32.14 53.45 32.14
MSM  | monoBERT | 23.08 28.71 23.58 28.22 | 46.97 34.95 47.11 35.49 | 41.79 36.16 42.48 36.39
MSM  | monoT5   | 20.13 26.77 20.15 26.64 | 35.68 31.69 36.46 31.88 | 29.86 28.24 30.31 28.27
MSM  | PACRR    | 42.41 44.86 42.43 44.67 | 35.79 33.71 36.28 33.83 | 34.76 36.45 35.70 36.87
Test | Duet     | 90.04 26.98 90.65 26.41 | 45.78 30.03 46.55 30.34 | 46.31 29.85 46.35 30.13
Test | KNRM     | 89.95 26.43 91.20 25.24 | 47.37 32.80 47.49 32.81 | 50.53 32.40 50.13 32.26
Test | monoBERT | 47.01 31.84 47.39 31.80 | 46.64 31.51 47.12 31.51 | 43.19 31.51 44.04 31.66
Test | monoT5   | 45.28 32.09 45.37 31.96 | 46.35 31.47 47.45 31.83 | 40.16 31.18 40.95 31.24
Test | PACRR    | 80.89 34.05 82.60 33.07 | 53.59 31.49 52.91 31.26 | 52.25 32.69 52.28 32.32
"""
_TABLE_7 = """
MSM  | Duet     |  0.89  1.22  0.78  1.18 |  0.52  1.18  0.47  1.17 |  0.16  0.79  0.09  0.75
MSM  | KNRM     | -2.06  3.64 -2.58  3.43 | -2.53  3.75 -3.08  3.52 | -2.32  3.24 -2.78  3.01
MSM  | monoBERT | -0.75  0.44 -0.72  0.41 | -0.88  0.49 -0.85  0.47 | -0.92  0.50 -0.89  0.48
MSM  | monoT5   | -1.05  1.14 -1.19  1.20 | -1.32  1.26 -1.48  1.31 | -1.51  1.34 -1.65  1.38
MSM  | PACRR    |  2.59  3.25  2.29  3.11 |  2.78  3.35  2.46  3.20 |  2.25  3.08  1.95  2.96
Test | Duet     |  0.07  0.61 -0.11  0.56 |  0.22  0.68 -0.01  0.66 |  0.30  0.69  0.09  0.68
Test | KNRM     | -2.71  3.79 -3.41  3.71 | -2.78  3.65 -3.28  3.63 | -3.08  4.14 -3.59  4.14
Test | monoBERT | -0.91  0.45 -1.04  0.53 | -0.85  0.44 -0.90  0.48 | -0.85  0.46 -0.92  0.49
Test | monoT5   | -1.70  1.24 -2.37  1.53 | -1.47  1.09 -1.98  1.37 | -1.52  1.24 -2.01  1.50
Test | PACRR    |  2.31  4.27  1.92  3.09 |  1.83  4.40  1.98  3.13 |  2.66  3.31  2.26  3.23
"""
# model | MSM leakage: for each target the mean and the deviation | test leakage
_TABLE_8 = """
Duet     | 6.378 32.15 3.119 19.17 2.647 19.23 | 0.809 17.69 1.430 19.33 1.023 20.10
KNRM     | 0.640 19.22 0.979 15.23 0.398 14.55 | 1.335 11.75 0.012 14.92 0.140 15.18
monoBERT | 0.692 17.97 0.076 17.19 0.369 20.04 | 3.886 20.39 0.980 17.44 3.497 25.98
monoT5   | 0.443  8.60 0.390  9.28 0.789  9.91 | 3.443 19.96 2.242  9.84 1.819 10.98
PACRR    | 0.043 19.30 0.764 10.93 0.452 12.38 | 1.952 17.71 0.271 16.96 0.753 14.16
"""


def target_of(query_ids: Collection[str]) -> str | None:
    """Return the paper's collection with exactly these topics, which a merged collection may prefix; None for any other.

    >>> target_of(["301", "302"]) is None
    True
    """
    found = frozenset(query_id.rpartition(":")[2] for query_id in query_ids) - _WITHOUT_RELEVANT
    known = {"Robust04": _ROBUST04 - _WITHOUT_RELEVANT, "Core 2017": _CORE_2017, "Core 2018": _CORE_2018}
    return next((name for name, topics in known.items() if topics == found), None)


def _rows(text: str) -> Iterator[list[str]]:
    return ([part.strip() for part in line.split("|")] for line in text.strip().splitlines())


def _table_1() -> Iterator[PublishedCell]:
    columns = [(source, counted) for source in ("MSM", "MSM + ORCAS") for counted in ("topics", "queries")]
    for field, *groups in _rows(_TABLE_1):
        for target, group in zip(TARGETS, groups, strict=True):
            for (source, counted), figure in zip(columns, group.split(), strict=True):
                place = f"Table 1, {field} row, {target}, {source}, {counted[0].upper()}"
                yield PublishedCell(1, target, counted, int(figure), place, source, row=_FIELDS[field])


def _table_2() -> Iterator[PublishedCell]:
    for target, rows in _TABLE_2A.items():
        for word, figures in zip(("true", "false"), rows, strict=True):
            for counted, figure in zip(("queries", "topics"), figures, strict=True):
                yield PublishedCell(
                    2, target, counted, figure, f"Table 2a, {target}, {word} row, {counted.capitalize()}", row=word
                )
    for label, figure in _TABLE_2B.items():
        yield PublishedCell(2, "", "queries", figure, f"Table 2b, {label.title()} row", row=label)


def _tables_3_to_5() -> Iterator[PublishedCell]:
    for table, (target, text) in enumerate(zip(TARGETS, _TABLES_3_TO_5, strict=True), 3):
        for model, *groups in _rows(text):
            for (column, measure), group in zip(_MEASURES.items(), groups, strict=True):
                for word, condition, figure in zip(("No", "MSM", "Test"), CONDITIONS.values(), group.split(), strict=True):
                    value = figure.rstrip("†")
                    facts = Facts(model=_MODELS[model], variant=condition)
                    place = f"Table {table}, {model}, {column}, {word}"
                    yield PublishedCell(
                        table, target, measure, float(value), place, facts=facts, letters=figure.removeprefix(value)
                    )


def _tables_6_and_7() -> Iterator[PublishedCell]:
    for table, measure, text in ((6, RANK, _TABLE_6), (7, SCORE, _TABLE_7)):
        for leak, model, *groups in _rows(text):
            facts = Facts(model=_MODELS[model], variant=CONDITIONS[leak.lower()])
            for target, group in zip(TARGETS, groups, strict=True):
                figures = list(map(float, group.split()))
                for column, state, pair in zip(("With", "Without"), (WITH, WITHOUT), (figures[:2], figures[2:]), strict=True):
                    place = f"Table {table}, {leak} leak., {model}, {target}, {column}"
                    yield from _with_deviation(table, target, f"{measure}, {state}", pair, place, facts)


def _table_8() -> Iterator[PublishedCell]:
    for model, *groups in _rows(_TABLE_8):
        for kind, group in zip(("msm", "test"), groups, strict=True):
            figures = list(map(float, group.split()))
            facts = Facts(model=_MODELS[model], variant=CONDITIONS[kind])
            for number, target in enumerate(TARGETS):
                place = f"Table 8, {model}, on {'MSM' if kind == 'msm' else 'Test'}, {target}"
                yield from _with_deviation(8, target, OFFSET, figures[2 * number : 2 * number + 2], place, facts)


def _with_deviation(
    table: int, target: str, measure: str, figures: list[float], place: str, facts: Facts
) -> Iterator[PublishedCell]:
    """Yield a mean, and the deviation that the paper prints beside it."""
    for name, where, figure in zip((measure, f"{measure} {DEVIATION}"), (place, f"{place}, deviation"), figures, strict=True):
        yield PublishedCell(table, target, name, figure, where, facts=facts)


CELLS: tuple[PublishedCell, ...] = (
    *_table_1(),
    *_table_2(),
    *_tables_3_to_5(),
    *_tables_6_and_7(),
    *_table_8(),
)


def published_candidates(target: str) -> CandidateCounts:
    """Return Table 1 of a target."""
    cells = {(c.row, c.split, c.measure): int(c.value) for c in CELLS if (c.table, c.collection) == (1, target)}
    rows: dict[str, dict[str, TopicsAndQueries]] = {}
    for row, source, _ in cells:
        rows.setdefault(row, {})[source] = TopicsAndQueries(cells[row, source, "topics"], cells[row, source, "queries"])
    return CandidateCounts(rows=rows)


def published_review(target: str) -> tuple[PublishedReview, LabelCounts]:
    """Return Table 2a of a target, and Table 2b, of all targets together."""
    rows: dict[str, dict[str, int]] = {}
    for cell in CELLS:
        if (cell.table, cell.collection) == (2, target):
            rows.setdefault(cell.row, {})[cell.measure] = int(cell.value)
    labels = {c.row: int(c.value) for c in CELLS if (c.table, c.collection) == (2, "")}
    return PublishedReview(rows=rows), LabelCounts(rows=labels)
