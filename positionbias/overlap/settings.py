"""Settings of overlap: the texts to compare, the share of common words from which they overlap, and
what to remove because of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from positionbias.core.places import Place
from positionbias.core.settings import Settings, setting
from positionbias.core.shared_settings import RelevantFrom
from positionbias.corpora.left_out import REMOVABLE, What

UNITS = PASSAGES, QUERIES = "passages", "queries"
SIDES = TRAIN, TEST = "train", "test"


@dataclass(frozen=True, slots=True)
class OverlapSettings(Settings):
    """The texts to compare, and from which share of common runs of words two of them overlap.

    ``n`` and ``containment`` are those of published decontaminated sets: 13 words and a half.

    Raises:
        SettingError: a setting outside its range.
    """

    n: int = setting(13, "Words of a run.", flags=("--ngram",), least=2, most=1_000, shown=False)
    containment: float = setting(
        0.5,
        "Lowest share of one text's runs of words that the other must have.",
        above=0,
        most=1,
        shown=False,
    )
    all_passages: bool = setting(
        False, "Compare all passages of collections, not only those that judgements name."
    )
    relevant_from: RelevantFrom = 1


@dataclass(frozen=True, slots=True)
class CountedPairs(Settings):
    """Rules for the pairs that count as leaks."""

    pairs: Place | None = setting(
        None,
        "Or take these pairs: what find or overlap wrote, or a labelled sheet.",
        metavar="DIR|FILE",
        place="read",
    )
    threshold: float | None = setting(
        None,
        "The cosine from which a pair without a label counts.",
        least=-1,
        most=1,
        metavar="SCORE",
        absent="with --against the encoder's own; with --pairs, all found by meaning",
    )
    source: str | None = setting(
        None, "Of --pairs of several sources, the one that COLLECTION is.", metavar="NAME"
    )
    lexical: bool = setting(
        False,
        "Remove what was found by words alone, too: candidates whose precision nobody has "
        "measured.",
    )


@dataclass(frozen=True, slots=True)
class Removing(Settings):
    """The unit to remove, and the side of the pairs it is on."""

    remove: What = setting(
        "queries", "What to remove, which is also the unit of the pairs.", choices=REMOVABLE
    )
    side: str = setting(TRAIN, "The side of the pairs that COLLECTION is.", choices=SIDES)
