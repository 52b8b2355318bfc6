"""What was removed because of overlapping pairs, as text: counts, and pairs that did not count."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.overlap.removing import PAIRS_OF
from positionbias.results.overlap_removed import LeaksRemoved
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["removed_text"]

_COUNTS = {
    "kept": "kept",
    "qrels_left_out": "judgements that went with them",
    "answers_left_out": "answers that went with them",
    "queries_without_judgement": "queries without a judgement now",
    "named_and_not_there": "named by pairs and not there",
    "labelled_different": "pairs labelled as different",
    "by_words_alone": (
        "pairs found by words alone, which did not count: label them (posbias leakage review)"
    ),
}


def removed_text(results: Sequence[Result]) -> str:
    """Return the text of one removal."""
    ((result, of),) = of_type(results, LeaksRemoved)
    share = f"{result.value:.2%}" if result.value is not None else "0.00%"
    what = f"{of.what} ({share})" if of.what == "passages" else f"{of.split} {of.what} ({share})"
    if of.groups:
        what = f"training groups, with {of.what} that leak ({share})"
    lines = [f"{result.collection}: removed {of.left_out:,} of {of.total:,} {what}"]
    lines.append(
        f"  {of.counted:,} of {of.pairs:,} {PAIRS_OF[of.unit]} counted, with {of.others:,} on the "
        "other side"
    )
    lines += [
        f"  {told}: {count:,}"
        for name, told in _COUNTS.items()
        if (count := getattr(of, name)) or name == "kept"
    ]
    return "\n".join(lines)
