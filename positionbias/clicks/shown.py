"""The counts of a training set of clicks as rows, and how they are shown."""

from __future__ import annotations

from pandas import DataFrame

from positionbias.core.groups import Groups
from positionbias.core.rows import Collected
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.table import RowTable, Value

LINES = {  # the part of the set, what is counted of it -> its count
    ("Queries with a positive", "all"): "queries with a positive",
    ("Queries with a positive", "all negatives drawn"): "queries with all negatives",
    ("Queries with a positive", "fewer, as candidates ran out"): "queries with fewer negatives",
    ("Positives", "pairs of query and passage"): "positives",
    ("Candidates", "left out as relevant"): "candidates left out as relevant",
    ("Triples drawn", "all"): "triples drawn",
    ("Triples drawn", "negative drawn again for another positive of the query"): (
        "negatives drawn again for another positive"
    ),
    ("Triples drawn", "negative judged not relevant"): "negatives judged not relevant",
    ("Triples kept", "all"): "triples",
}


def count_rows(groups: Groups, collection: str) -> DataFrame:
    """Return what was counted while the set was drawn from a collection of this name."""
    counts = groups.manifest.content_as(dict[str, int], "clicks")
    common = {"study": "clicks", "collection": collection, "split": groups.splits[0]}
    made = Collected({**common, "set": groups.name}, ("set",))
    for (subset, label), count in LINES.items():
        made.add("training set", "number", counts[count], subset=subset, axis="part", label=label)
    return made.rows


COUNTED = RowTable(
    name="clicks",
    title="The training triples",
    stub={"subset": "Part", "label": "What"},
    cells=[Value("number", "Number", ",")],
    notes=[
        "Of every query with a positive in the collection. Queries with neither all negatives nor "
        "fewer got none: the run has no candidates of theirs, or all are relevant."
    ],
)
SHOWN = Presentation(
    study="clicks",
    sections=(
        RowSection(
            anchor="clicks",
            title="The training triples",
            introduction="For each positive of a query, clicked or judged relevant, negatives were "
            "drawn at random from the query's candidates. What any judgement set of the split "
            "calls relevant left before the draw.",
            tables=[COUNTED],
        ),
    ),
    text=[COUNTED],
)
