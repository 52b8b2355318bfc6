"""What an import says of the collection that it made: what was read, left out and drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from positionbias.core.collection import Collection
from positionbias.core.outcome import hint_collection
from positionbias.core.progress import say
from positionbias.formats.validation_draw import DrawnQueries

LEFT_OUT = {
    "judged_again": "pairs judged several times, kept once with the highest grade",
    "judgements_of_other_queries": "judgements of queries that are not there, left out",
    "blank_answers": "answers without text, left out",
    "answers_in_absent_passages": "answers in passages that are not there, left out",
}


def told(collection: Collection, remarks: Iterable[str] = ()) -> Collection:
    """Return the collection, after remarks, what its validation split was drawn from, and where it
    is.
    """
    for remark in remarks:
        say(remark)
    if "validation" in collection.manifest.content:
        say(f"validation: {collection.manifest.content_as(DrawnQueries, 'validation').in_words()}")
    return hint_collection(collection)


def counted(counts: Mapping[str, int]) -> str:
    """Return counts by name as a list in words."""
    return ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in counts.items())


def in_words(columns: Mapping[str, str]) -> str:
    """Return which column was taken for what."""
    return ", ".join(f"{what} = {column}" for what, column in columns.items())
