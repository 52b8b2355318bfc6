"""Passages or queries of one side to remove because of pairs, each with its evidence; and rows of
what was removed.

A pair counts as its label says. One without a label counts unless ``leakage find`` found it by
words alone, whose precision nobody has measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pandas import DataFrame

from positionbias.core.json_text import Json, JsonObject
from positionbias.core.rows import Collected
from positionbias.corpora.left_out import NAMED_BY
from positionbias.leakage.pairs import Pair, set_aside
from positionbias.overlap.settings import TRAIN, CountedPairs, Removing

STUDY = "leakage clean"
_LOST = {  # the count in a manifest, in words
    "qrels_left_out": "judgements removed",
    "answers_left_out": "answers removed",
    "queries_without_judgement": "queries without a judgement now",
    "named_and_not_there": "named by pairs, and not there",
}


@dataclass(slots=True)
class Evidence:
    """Ids of passages or queries with the pairs that speak against them; ``others`` are the items
    (source, id) of the other side, and ``ignored`` counts pairs that do not count, by reason.
    """

    reasons: dict[str, list[JsonObject]] = field(default_factory=dict)
    others: set[tuple[str, str]] = field(default_factory=set)
    pairs: int = 0
    ignored: Counter[str] = field(default_factory=Counter)


def evidence_of(pairs: Iterable[Pair], counted: CountedPairs, removing: Removing) -> Evidence:
    """Return the passages or queries to remove."""
    found = Evidence()
    for pair in pairs:
        found.pairs += 1
        if why := set_aside(pair, counted.threshold, lexical=counted.lexical):
            found.ignored[str(why).replace("_", " ")] += 1
            continue
        ids = pair.train_id, pair.test_id
        mine, other = ids if removing.side == TRAIN else reversed(ids)
        source = pair.source if removing.side != TRAIN else ""
        found.others.add((source, other))
        found.reasons.setdefault(mine, []).append(_reason(pair, other, source, removing))
    return found


def _reason(pair: Pair, other: str, source: str, removing: Removing) -> JsonObject:
    """Return a pair as evidence: the other side's id, detectors, scores and label, without
    texts.
    """
    side = "test" if removing.side == TRAIN else TRAIN
    record: dict[str, Json] = {
        "source": source,
        f"{side}_{NAMED_BY[removing.remove]}": other,
        "field": pair.field,
        "found_by": [*pair.found_by],
        **pair.scores,
        "label": pair.label,
    }
    return {name: value for name, value in record.items() if value not in ("", [])}


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
