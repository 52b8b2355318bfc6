"""What to remove because of pairs: the passages, queries or judgements of one side, each with its
evidence.

A pair counts as its label says. One without a label counts unless ``leakage find`` found it by
words alone, whose precision nobody has measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from positionbias.core.errors import SettingError
from positionbias.core.json_text import Json, JsonObject
from positionbias.core.places import Place
from positionbias.core.settings import check_settings, setting
from positionbias.corpora.left_out import REMOVABLE, Removed, What
from positionbias.leakage.leaks import check_threshold, set_aside
from positionbias.leakage.pairs import Pair
from positionbias.overlap.settings import PAIRS, PASSAGES, QUERIES, UNITS

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TRAIN", "CountedPairs", "Evidence", "Removing", "by_judgements", "evidence_of"]

SIDES = TRAIN, TEST = "train", "test"
UNITS_OF = {"passages": [PASSAGES], "queries": [QUERIES, PASSAGES, PAIRS], "judgements": [PAIRS]}


@dataclass(frozen=True, slots=True)
class CountedPairs:
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

    def __post_init__(self) -> None:
        check_threshold(self.threshold)


@dataclass(frozen=True, slots=True)
class Removing:
    """What is removed, of which side of the pairs, because of which pairs.

    Raises:
        SettingError: a value that is no choice, or pairs that do not name what is removed.
    """

    remove: What = setting(
        "queries",
        "What to remove of pairs; of a judgement both query and passage stay.",
        choices=REMOVABLE,
    )
    side: str = setting(TRAIN, "The side of the pairs that COLLECTION is.", choices=SIDES)
    unit: str | None = setting(
        None,
        "Remove queries because of pairs of queries, of their passages, or of both.",
        choices=UNITS,
        absent="what is removed; pairs for judgements",
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if (units := UNITS_OF[self.remove]) and self.because_of not in units:
            raise SettingError(
                f"--unit: wanted {' or '.join(units)} with --remove {self.remove}; found "
                f"{self.unit}; leave it out, or give --remove queries"
            )

    @property
    def because_of(self) -> str:
        """The unit of the pairs."""
        return self.unit or UNITS_OF[self.remove][0]


@dataclass(slots=True)
class Evidence:
    """Passages, queries or judgements with the pairs that speak against them; ``others`` are the
    items of the other side, and ``ignored`` counts pairs that do not count, by reason.
    """

    reasons: dict[Removed, list[JsonObject]] = field(default_factory=dict)
    others: set[tuple[str, ...]] = field(default_factory=set)
    pairs: int = 0
    ignored: Counter[str] = field(default_factory=Counter)


def evidence_of(pairs: Iterable[Pair], counted: CountedPairs, removing: Removing) -> Evidence:
    """Return the items to remove: passages, queries, or both by the unit of the pairs.

    Memory: the evidence, a few hundred bytes a pair.
    """
    found = Evidence()
    for pair in pairs:
        found.pairs += 1
        if why := set_aside(pair, counted.threshold, lexical=counted.lexical):
            found.ignored[str(why).replace("_", " ")] += 1
            continue
        train = _item(pair.train_id, pair.train_passage_id, removing)
        test = _item(pair.test_id, pair.test_passage_id, removing)
        mine, other = (train, test) if removing.side == TRAIN else (test, train)
        source = pair.source if removing.side == TEST else ""
        found.others.add((source, *other))
        if removing.because_of == PAIRS and removing.remove == "queries":
            mine = Removed(mine.query_id)
        found.reasons.setdefault(mine, []).append(_reason(pair, other, source, removing))
    return found


def _item(item: str, passage: str, removing: Removing) -> Removed:
    return Removed("", item) if removing.because_of == PASSAGES else Removed(item, passage)


def _reason(pair: Pair, other: Removed, source: str, removing: Removing) -> JsonObject:
    """Return a pair as evidence: the other side's ids, detectors, scores and label, without
    texts.
    """
    side = TEST if removing.side == TRAIN else TRAIN
    record: dict[str, Json] = {
        "source": source,
        f"{side}_query_id": other.query_id,
        f"{side}_passage_id": other.passage_id,
        "field": pair.field,
        "found_by": [*pair.found_by],
        **pair.scores,
        "label": pair.label.name if pair.label else "",
    }
    return {name: value for name, value in record.items() if value not in ("", [])}


def by_judgements(
    reasons: dict[Removed, list[JsonObject]], judged: pa.Table, relevant_from: int
) -> dict[Removed, list[JsonObject]]:
    """Return the reasons for the queries of which passages are relevant, by the reasons for the
    passages. ``judged`` has columns query_id, passage_id and grade.
    """
    of_queries: dict[Removed, list[JsonObject]] = {}
    for judgement in judged.to_pylist():
        passage_id = judgement["passage_id"]
        if judgement["grade"] >= relevant_from and (own := reasons.get(Removed("", passage_id))):
            of_queries.setdefault(Removed(judgement["query_id"]), []).extend(
                {"passage_id": passage_id, **reason} for reason in own
            )
    return of_queries
