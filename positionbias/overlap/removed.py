"""What was removed because of pairs, as rows, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping

from pandas import DataFrame

from positionbias.core.rows import Collected
from positionbias.leakage.leaks import Cause
from positionbias.overlap.removal import Evidence, Removing
from positionbias.report.presentation import Presentation, RowSection
from positionbias.report.record import records_of, said
from positionbias.report.row_table import RowTable, Value

__all__ = ["SHOWN", "removed_rows"]

STUDY = "leakage clean"
_LOST = {  # the count in a manifest, in words
    "qrels_left_out": "judgements removed",
    "answers_left_out": "answers removed",
    "queries_without_judgement": "queries without a judgement now",
    "named_and_not_there": "named by pairs, and not there",
}


def removed_rows(
    name: str, split: str, facts: Mapping[str, int], evidence: Evidence, removing: Removing
) -> DataFrame:
    """Return the share that was removed, and the counts behind it: ``facts`` are those of the
    manifest.
    """
    what = next(name for name in ("training groups", removing.remove) if name in facts)
    total, removed = facts[what], facts["left_out"]
    made = Collected({"study": STUDY, "collection": name, "split": split})
    share = removed / total if total else 0.0
    made.add(what, "share", share, unit="share", count=total, counted=what)
    made.add(what, "removed", removed, unit="count")
    numbers = {
        f"{what} kept": total - removed,
        **{words: facts.get(count, 0) for count, words in _LOST.items()},
        "pairs read": evidence.pairs,
        "pairs that count": evidence.pairs - evidence.ignored.total(),
        "items of the other side": len(evidence.others),
        **evidence.ignored,
    }
    for label, number in numbers.items():
        made.add(what, "number", number, axis="count", label=label, unit="count")
    return made.rows


def _headline(rows: DataFrame) -> list[str]:
    (removal,) = records_of(rows, ["collection", "split", "measure"], "axis == ''")
    what = "{split} {measure}" if removal.keys["measure"] == "queries" else "{measure}"
    share = removal.rows["share"]
    text = f"{{collection}}: removed {{removed:,}} of {share.count:,} {what} ({share.value:.2%})."
    return [said(text, removal)]


def _by_words(rows: DataFrame) -> str:
    told = (
        "Pairs found by words alone have an unknown precision and stay: label them (posbias "
        "leakage review), or add --lexical."
    )
    return told if (rows["label"] == str(Cause.WORDS_ALONE).replace("_", " ")).any() else ""


COUNTS = RowTable(
    name="removed",
    title="What was removed, and why",
    stub={"label": ""},
    where="statistic == 'number' and value > 0",
    cells=[Value("number", "Number", ",")],
    notes=[_by_words],
)
SHOWN = Presentation(
    study=STUDY,
    headline=_headline,
    sections=[
        RowSection(
            anchor="removed",
            title="Leaks removed",
            introduction="left_out in the new artefact lists each, with its evidence.",
            tables=[COUNTS],
        )
    ],
    text=[COUNTS],
)
