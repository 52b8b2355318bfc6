"""Arguments, options and settings that several commands share, each declared once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from positionbias.core.inputs import CollectionLike
from positionbias.core.places import Place
from positionbias.core.settings import Setting

# -- what is read and written ----------------------------------------------------------------------

Source = Annotated[
    CollectionLike,
    Setting("A collection, its folder, or its name under $POSBIAS_HOME.", place="read"),
]
Sources = Annotated[
    Sequence[CollectionLike],
    Setting(
        "Collections, their folders, or their names under $POSBIAS_HOME.",
        metavar="COLLECTION…",
        place="read",
    ),
]
Candidates = Annotated[
    Place,
    Setting(
        "A run over the training queries, from which negatives are drawn.",
        metavar="RUN",
        place="read",
    ),
]
Out = Annotated[
    Place, Setting("Where to write: a new folder or file.", metavar="PATH", place="written")
]
SavedTo = Annotated[
    Place | None,
    Setting(
        "Save the results as a folder, for posbias report.",
        metavar="DIR",
        place="written",
    ),
]
Overwrite = Annotated[bool, Setting("Replace what stands at --out.")]
WithTexts = Annotated[
    bool, Setting("Leave the texts of single queries out of the page.", flags=("--no-texts",))
]

# -- queries and their judgements ------------------------------------------------------------------

Split = Annotated[str, Setting("Split of the queries.", metavar="SPLIT")]
Splits = Annotated[
    Sequence[str],
    Setting("A split; all by default; repeatable.", flags=("--split",), metavar="SPLIT"),
]
TrainingSplit = Annotated[str, Setting("Training queries.", metavar="SPLIT", shown=True)]
StopBy = Annotated[
    str | None,
    Setting(
        "Queries to validate on, so that trainings stop early.",
        flags=("--validation-split",),
        metavar="SPLIT",
        absent="none, all epochs or steps",
    ),
]
JudgementSet = Annotated[
    str | None,
    Setting("Another judgement set of the split, to use instead.", metavar="NAME", shown=False),
]
RelevantFrom = Annotated[
    int, Setting("Grade from which a passage is relevant.", least=1, metavar="GRADE")
]
TargetRelevantFrom = Annotated[
    int,
    Setting(
        "Grade from which a passage is relevant to a test query.",
        least=1,
        metavar="GRADE",
        shown=False,
    ),
]
TrainDepth = Annotated[
    int,
    Setting("Candidates per training query, from which negatives are drawn.", least=1, shown=False),
]
WithoutOwn = Annotated[
    bool,
    Setting("Leave out the passage that has a query's own id, as BEIR and MTEB do.", shown=False),
]

# -- measures and models ---------------------------------------------------------------------------

Measure = Annotated[
    str,
    Setting(
        "The measure, as ir_measures names it.",
        flags=("-m", "--measure"),
        metavar="MEASURE",
        shown=True,
    ),
]
QueryPrompt = Annotated[
    str | None,
    Setting(
        "Text before each query.",
        absent="what sentence-transformers puts there",
        metavar="TEXT",
        shown=False,
    ),
]
