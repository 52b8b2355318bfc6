"""Decide what to remove because of pairs: the passages, queries or judgements of one side, each
with its evidence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from positionbias.core.json_text import Json, JsonObject
from positionbias.corpora.left_out import Removed
from positionbias.leakage.pairs import Pair
from positionbias.overlap.removing import Removal
from positionbias.overlap.settings import PAIRS, PASSAGES

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Evidence", "counts", "evidence_of", "with_judgements"]


@dataclass(slots=True)
class Evidence:
    """Passages, queries or judgements with the pairs that speak against them, and counts of pairs
    by whether they count.

    ``others`` are the items of the other side. ``different`` counts pairs that a person labelled
    so, ``by_words_alone`` those that only the lexical detector of ``leakage find`` found.
    """

    reasons: dict[Removed, list[JsonObject]] = field(default_factory=dict)
    others: set[tuple[str, str]] = field(default_factory=set)
    pairs: int = 0
    counted: int = 0
    different: int = 0
    by_words_alone: int = 0


def counts(pair: Pair) -> bool:
    """Return True if a pair counts as a leak: by its label, else unless it was found by words
    alone.
    """
    return pair.label.leaks if pair.label is not None else not pair.by_words_alone


def evidence_of(pairs: Iterable[Pair], removal: Removal) -> Evidence:
    """Return the items of ``removal.side`` in pairs that count: passages, queries, or both by the
    unit of the pairs.

    Memory: the evidence, a few hundred bytes a pair.
    """
    found = Evidence()
    for pair in pairs:
        found.pairs += 1
        if not counts(pair):
            if pair.label is not None:
                found.different += 1
            else:
                found.by_words_alone += 1
            continue
        found.counted += 1
        train, test = _items(pair, removal.unit)
        mine, other = (train, test) if removal.side == "train" else (test, train)
        found.others.add((pair.source if removal.side == "test" else "", "\t".join(other)))
        found.reasons.setdefault(_named(mine, removal), []).append(_reason(pair, other, removal))
    return found


def _items(pair: Pair, unit: str) -> tuple[Removed, Removed]:
    """Return the training and the test item of a pair."""
    if unit == PASSAGES:
        return Removed("", pair.train_id), Removed("", pair.test_id)
    return Removed(pair.train_id, pair.train_passage_id), Removed(
        pair.test_id, pair.test_passage_id
    )


def _named(item: Removed, removal: Removal) -> Removed:
    """Return what of an item names what goes: of pairs one part, unless the judgement of both
    goes.
    """
    if removal.unit != PAIRS or removal.what == "judgements":
        return item
    return (
        Removed(query_id=item.query_id)
        if removal.what == "queries"
        else Removed(passage_id=item.passage_id)
    )


def _reason(pair: Pair, other: Removed, removal: Removal) -> JsonObject:
    """Return a pair as evidence: the other side's ids, detectors, scores and label, without
    texts.
    """
    side = "test" if removal.side == "train" else "train"
    record: dict[str, Json] = {
        "source": pair.source if removal.side == "test" else "",
        f"{side}_query_id": other.query_id,
        f"{side}_passage_id": other.passage_id,
        "found_by": [*pair.found_by],
        **pair.scores,
        "label": pair.label.name if pair.label else "",
    }
    return {name: value for name, value in record.items() if value not in ("", [])}


def with_judgements(
    evidence: Evidence, removal: Removal, judged: pa.Table, relevant_from: int = 1
) -> dict[Removed, list[JsonObject]]:
    """Return the reasons for queries or judgements where pairs name passages, or for judgements
    where they name queries.

    ``judged`` has columns query_id, passage_id and grade; relevant are grades from
    ``relevant_from`` on. Reasons of the other kinds are returned as they are.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    by_passage = removal.unit == PASSAGES
    if not removal.needs_judgements:
        return evidence.reasons
    column = "passage_id" if by_passage else "query_id"
    named = pa.array(
        [item.passage_id if by_passage else item.query_id for item in evidence.reasons], pa.string()
    )
    rows = judged.filter(
        pc.and_(
            pc.greater_equal(judged["grade"], relevant_from),
            pc.is_in(judged[column], value_set=named),
        )
    )
    found: dict[Removed, list[JsonObject]] = {}
    for query_id, passage_id in zip(
        rows["query_id"].to_pylist(), rows["passage_id"].to_pylist(), strict=True
    ):
        reasons = evidence.reasons[Removed("", passage_id) if by_passage else Removed(query_id)]
        item = Removed(query_id) if removal.what == "queries" else Removed(query_id, passage_id)
        own: JsonObject = {"passage_id": passage_id} if removal.what == "queries" else {}
        found.setdefault(item, []).extend({**own, **reason} for reason in reasons)
    return found
